"""What can be told about a Python source without running it: does it parse, what does it define."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from solbench.errors import SpecError

_TRANSPARENT_DECORATORS = frozenset(
    {"torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.compile",
     "torch.jit.script", "triton.jit", "no_grad", "inference_mode"}
)  # fmt: skip
"""They keep a function's parameters; of any other decorator we cannot tell."""
_BLOCKS = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While)


_MOST_CHARACTERS = 2 << 20
_MOST_EFFORT = 1 << 33
"""Braces times characters. Before Python 3.12, the place of every expression of an f-string is looked for
from the string's beginning: a megabyte of them takes minutes, which nothing can interrupt."""


@dataclass(frozen=True, slots=True)
class Signature:
    """How many positional arguments a function takes."""

    required: int
    most: int | None
    """``None``: any number (``*args``)."""
    line: int
    required_keywords: tuple[str, ...] = ()

    def accepts(self, count: int) -> bool:
        enough = self.required <= count and (self.most is None or count <= self.most)
        return enough and not self.required_keywords

    def __str__(self) -> str:
        if self.required_keywords:
            return f"needs the keyword {', '.join(self.required_keywords)}"
        if self.most is None:
            return f"takes {self.required} or more"
        if self.most != self.required:
            return f"takes {self.required} to {self.most}"
        return f"takes {self.required}"


def parse_python(source: str) -> ast.Module:
    """Syntax tree of ``source``; ``SpecError`` whose ``line`` is the line within the source.

    One that would take too long to read, or too much memory, is refused too.
    """
    if len(source) > _MOST_CHARACTERS or source.count("{") * len(source) > _MOST_EFFORT:
        raise SpecError("is not read: it is too long, or too full of braces for its length")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in others' strings are not our business
            return ast.parse(source)
    except SyntaxError as error:
        raise SpecError(f"is not Python: {error.msg}", line=error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SpecError(f"is not Python: {error or 'nested too deeply'}") from None


def defines(tree: ast.Module, name: str) -> bool:
    """Whether the module's top level binds ``name``, or may do so by a star import."""
    return any({name, "*"} & _bound_names(statement) for statement in _top_level(tree.body))


def signature_of(tree: ast.Module, name: str) -> Signature | None:
    """Signature of the last top-level function ``name``; ``None`` if it cannot be told for sure."""
    found = None
    for statement in _top_level(tree.body):
        if name in _bound_names(statement):
            found = statement
    if not isinstance(found, ast.FunctionDef):
        return None
    if not all(_decorator_name(node) in _TRANSPARENT_DECORATORS for node in found.decorator_list):
        return None
    arguments = found.args
    positional = len(arguments.posonlyargs) + len(arguments.args)
    keywords = tuple(
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    )
    return Signature(
        required=positional - len(arguments.defaults),
        most=None if arguments.vararg else positional,
        line=found.lineno,
        required_keywords=keywords,
    )


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, those within conditions, loops and ``try`` included."""
    for statement in body:
        yield statement
        if isinstance(statement, _BLOCKS):
            for block in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(statement, block, []))
            for handler in getattr(statement, "handlers", []):
                yield from _top_level(handler.body)


def _bound_names(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
        case ast.Assign(targets=targets):
            return {
                node.id
                for target in targets
                for node in ast.walk(target)
                if isinstance(node, ast.Name)
            }
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return {name}
        case _:
            return set()


def _decorator_name(node: ast.expr) -> str:
    target = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(target)
