"""What the pages mention is there: shell lines are understood, paths lead somewhere, imports work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from solbench.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
GENERATED = {"cli.md", "suite-composition.md"}
WRITTEN = [page for page in PAGES if page.name not in GENERATED]
_SHELL = re.compile(r"^    (?:\$ )?(solbench .*)$", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n\s*")
_PATH = re.compile(
    r"(?<![\w/.…])((?:benchmarks|examples|scripts|src|tests|docs)/[\w./-]*\w)(?![\w{])"
)
_IMPORT = re.compile(r"^ *(from solbench[\w.]* import (?:\([^)]*\)|[^(\n]+))", re.MULTILINE)
_TO_BE_WRITTEN = {"src/solbench/jail/builders/mylang.py", "src/solbench/hardware/NAME.toml"}
"""What a page tells its reader to add."""


def command_lines(page: Path) -> list[str]:
    return _SHELL.findall(_CONTINUED.sub("", page.read_text(encoding="utf-8")))


def refusal(line: str) -> str:
    """Why the command line would not be understood; empty if it would."""
    words = shlex.split(line.split(" | ")[0], comments=True)[1:]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        options = [word for word in words[:1] if word.startswith("--")]
        words = words[len(options) :]
        if not words or words[0] not in command.commands:
            return f"there is no command {words[:1]}"
        command, words = command.commands[words[0]], words[1:]
    context = command.context_class(command, info_name=command.name)
    try:
        _, left, _ = command.make_parser(context).parse_args(list(words))
    except Exception as error:  # noqa: BLE001 - of click, which typer vendors in some versions
        return str(getattr(error, "message", error))
    return f"too many arguments: {left}" if left else ""


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_is_understood(page: Path) -> None:
    wrong = {line: why for line in command_lines(page) if (why := refusal(line))}
    assert wrong == {}


def test_a_command_that_is_not_understood_is_found() -> None:
    assert len([line for page in WRITTEN for line in command_lines(page)]) > 50
    assert refusal("solbench eval examples/rmsnorm --device cuda:0 # comment") == ""
    assert refusal("solbench evaluate examples/rmsnorm").startswith("there is no command")
    assert "--devise" in refusal("solbench eval examples/rmsnorm --devise cpu")
    assert "too many" in refusal("solbench suite show one two")
    assert refusal("solbench --debug suite list --by model") == ""


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_file_of_the_checkout_that_a_page_names_is_there(page: Path) -> None:
    named = set(_PATH.findall(page.read_text(encoding="utf-8"))) - _TO_BE_WRITTEN
    assert {path for path in named if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_every_name_that_a_page_imports_exists(page: Path) -> None:
    for line in _IMPORT.findall(page.read_text(encoding="utf-8")):
        exec(re.sub(r"\s*#.*", "", line), {})
