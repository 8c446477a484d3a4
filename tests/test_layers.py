"""The layer rules of pyproject.toml hold."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_packages_import_downwards_only(monkeypatch: pytest.MonkeyPatch) -> None:
    importlinter = pytest.importorskip("importlinter.cli", reason="import-linter is not installed")
    monkeypatch.chdir(ROOT)
    assert importlinter.lint_imports(no_cache=True) == 0
