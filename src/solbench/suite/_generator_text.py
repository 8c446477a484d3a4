"""The source text of generators, so that exported problems carry them; nothing is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from solbench.errors import InputError

_FOLDERS = ("generators", "formats")
_FILLED_IN = frozenset({"shape", "dtype", "device"})
"""Parameters that the exported problem fills in."""


@dataclass(frozen=True, slots=True)
class _Text:
    """One top-level function or constant."""

    name: str
    text: str
    uses: frozenset[str]
    """Every name that occurs in it."""
    parameters: tuple[str, ...] | None
    """``None`` for a constant."""


def generator_names() -> frozenset[str]:
    """Every public function of the generator files."""
    return frozenset(
        name
        for name, found in _texts().items()
        if found.parameters is not None and not name.startswith("_")
    )


def generator_parameters(name: str) -> tuple[str, ...]:
    """What a declaration may pass to a generator, by keyword."""
    found = _texts()[name].parameters or ()
    return tuple(each for each in found if each not in _FILLED_IN)


def wants_shape(name: str) -> bool:
    """Whether a generator makes one tensor of a given shape and dtype, rather than a dict of tensors."""
    return "shape" in (_texts()[name].parameters or ())


def generator_source(names: Iterable[str]) -> str:
    """The text of these generators and of everything they use, each once, in a fixed order."""
    texts = _texts()
    wanted: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo += sorted(texts[name].uses & texts.keys())
    kept = [found for name, found in texts.items() if name in wanted]
    constants = [found.text for found in kept if found.parameters is None]
    functions = [found.text for found in kept if found.parameters is not None]
    return "\n\n\n".join((["\n".join(constants)] if constants else []) + functions)


@cache
def _texts() -> dict[str, _Text]:
    texts: dict[str, _Text] = {}
    for folder in _FOLDERS:
        for file in sorted((Path(__file__).parent / folder).glob("[!_]*.py")):
            for found in _top_level(file.read_text(encoding="utf-8")):
                if found.name in texts:
                    raise InputError(f"'{found.name}' is defined twice", file=file)
                texts[found.name] = found
    return texts


def _top_level(source: str) -> Iterator[_Text]:
    for node in ast.parse(source).body:
        text = ast.get_source_segment(source, node) or ""
        uses = frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            names = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            yield _Text(node.name, text, uses - {node.name}, tuple(each.arg for each in names))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            yield _Text(name, text, uses - {name}, None)
