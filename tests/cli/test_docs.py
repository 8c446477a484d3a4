"""The CLI reference is what the commands say, and help is complete and fits 80 columns."""

import importlib.util
from collections import defaultdict
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
def test_every_command_has_an_example_its_exit_codes_json_and_help_for_every_parameter(
    name: str, command: Any
) -> None:
    assert "Example: " + name in command.help
    assert "Exit code 0" in command.help
    assert any("--json" in parameter.opts for parameter in command.params)
    assert all(parameter.help for parameter in command.params)


def test_an_option_means_the_same_kind_of_thing_everywhere() -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for _, command in all_commands():
        for parameter in command.params:
            kind = "flag" if getattr(parameter, "is_flag", False) else parameter.metavar
            if parameter.opts[0].startswith("--"):
                kinds[parameter.opts[0]].add(str(kind))
    differing = {name: kind for name, kind in kinds.items() if len(kind) > 1}
    assert differing == {"--out": {"FILE", "DIR"}}  # many records, or several files


def test_help_fits_80_columns(run: Any) -> None:
    for name, _ in all_commands():
        result = run(*name.split()[1:], "--help")
        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_version_is_shown(run: Any) -> None:
    assert run("--version").stdout.startswith("solbench ")
