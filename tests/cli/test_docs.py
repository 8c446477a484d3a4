"""The CLI reference is what the commands say, and help is complete and fits 80 columns."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import typer

from solbench.cli import app

ROOT = Path(__file__).parent.parent.parent


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("cli_docs", ROOT / "scripts" / "_cli_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def all_commands() -> list[tuple[str, Any]]:
    return list(generator().commands(typer.main.get_command(app), "solbench"))


def test_the_cli_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == generator().document(), "run scripts/docs"


@pytest.mark.parametrize(("name", "command"), all_commands(), ids=lambda each: str(each)[:20])
def test_every_command_takes_json_and_every_parameter_says_what_it_is(
    name: str, command: Any
) -> None:
    assert command.help, name
    assert any("--json" in parameter.opts for parameter in command.params)
    assert all(parameter.help for parameter in command.params)


def test_help_fits_80_columns(run: Any) -> None:
    for name, _ in all_commands():
        result = run(*name.split()[1:], "--help")
        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_version_is_shown(run: Any) -> None:
    assert run("--version").stdout.startswith("solbench ")
