"""Python in the docs runs, and prints what its page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.xdist_group("judge")


def _blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of every fenced block."""
    return _BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page", ["library.md", "getting-started.md", "score.md", "judge.md", "suite.md"]
)
def test_the_examples_of_a_page_run_one_after_the_other(page: str, tmp_path: Path) -> None:
    blocks = _blocks(page)
    code = "\n".join(text for language, text in blocks if language == "python")
    said = "".join(text for language, text in blocks if not language)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=110
    )
    assert ran.returncode == 0, ran.stderr
    if said:
        assert ran.stdout == said
