"""A Python file as rules read it: calls and names with what they resolve to, and the entry function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from solbench.judge.guard._subject import Subject

_DEEPEST = 64
"""Attributes in a chain that are followed; honest ones have a handful."""


@dataclass(frozen=True)
class PythonFile:
    """One parsed source."""

    path: str
    text: str
    tree: ast.Module
    subject: Subject
    nodes: tuple[ast.AST, ...] = field(default=(), repr=False)

    def all(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in self.nodes if isinstance(node, kinds))

    @cached_property
    def calls(self) -> tuple[tuple[ast.Call, str], ...]:
        """Every call with the dotted name of what is called, ``""`` where that is no name."""
        return tuple(
            (node, self.name(node.func)) for node in self.nodes if isinstance(node, ast.Call)
        )

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Name in this file → what an import bound it to."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    found[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return found | self._renamed(found)

    def _renamed(self, imported: dict[str, str]) -> dict[str, str]:
        """``clock = time.perf_counter`` is an import by another name; so is a loop over modules."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target, dotted = node.targets[0], _dotted(node.value)
                top, _, rest = dotted.partition(".")
                if isinstance(target, ast.Name) and top in imported:
                    found[target.id] = f"{imported[top]}.{rest}" if rest else imported[top]
            elif (
                isinstance(node, ast.For)
                and isinstance(node.target, ast.Name)
                and isinstance(node.iter, ast.Tuple | ast.List)
                and node.iter.elts
            ):
                dotted = _dotted(node.iter.elts[0])
                top, _, rest = dotted.partition(".")
                if top in imported:
                    found[node.target.id] = f"{imported[top]}.{rest}" if rest else imported[top]
        return found

    @cached_property
    def imports(self) -> tuple[tuple[int, str], ...]:
        """Line and full name of everything imported."""
        found: list[tuple[int, str]] = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [(node.lineno, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        return tuple(found)

    def name(self, node: ast.AST) -> str:
        """Dotted name with imports resolved: ``t.cuda.Stream`` is ``torch.cuda.Stream``; ``""`` for others."""
        dotted = _dotted(node)
        top, dot, rest = dotted.partition(".")
        return f"{self.aliases.get(top, top)}{dot}{rest}"

    @cached_property
    def attributes(self) -> tuple[tuple[ast.Attribute, str], ...]:
        """Every attribute with its resolved name, or ``.name`` of what stands on something else."""
        return tuple(
            (node, self.name(node) or f".{node.attr}")
            for node in self.nodes
            if isinstance(node, ast.Attribute)
        )

    @cached_property
    def strings(self) -> tuple[tuple[int, str], ...]:
        """Line and value of every text and bytes literal, those of docstrings left out."""
        documentation = {id(node) for node in self._docstrings()}
        found = []
        for node in self.nodes:
            if not isinstance(node, ast.Constant) or id(node) in documentation:
                continue
            if isinstance(node.value, str):
                found.append((node.lineno, node.value))
            elif isinstance(node.value, bytes):
                found.append((node.lineno, node.value.decode("latin-1")))
        return tuple(found)

    def _docstrings(self) -> Iterator[ast.Constant]:
        for node in self.nodes:
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
                first = node.body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    yield first.value

    @cached_property
    def entry(self) -> ast.FunctionDef | None:
        """The last top-level function of the entry's name; ``None`` in other files."""
        spec, found = self.subject.solution.spec, None
        if spec.entry_file == self.path:
            for node in self.tree.body:
                if isinstance(node, ast.FunctionDef) and node.name == spec.entry_function:
                    found = node
        return found

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Positional parameters of the entry."""
        if self.entry is None:
            return ()
        return tuple(each.arg for each in (*self.entry.args.posonlyargs, *self.entry.args.args))

    @cached_property
    def output_parameters(self) -> frozenset[str]:
        outputs, wanted = self.subject.outputs, len(self.parameters)
        if not outputs or self.subject.definition is None:
            return frozenset()
        first = len(self.subject.definition.inputs)
        return frozenset(self.parameters[first : min(first + outputs, wanted)])

    @cached_property
    def stores(self) -> frozenset[str]:
        """Names that outlive a call: of the top level, of ``global`` and ``nonlocal``, of mutable defaults."""
        names: set[str] = set()
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                )
                names |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        for node in self.nodes:
            if isinstance(node, ast.Global | ast.Nonlocal):
                names |= set(node.names)
            elif isinstance(node, ast.FunctionDef):
                named = (*node.args.posonlyargs, *node.args.args)
                count = len(node.args.defaults)
                for argument, default in zip(
                    named[len(named) - count :], node.args.defaults, strict=True
                ):
                    if not isinstance(default, ast.Constant):
                        names.add(argument.arg)
        return frozenset(names)

    def functions(self) -> Iterator[ast.FunctionDef]:
        return (node for node in self.nodes if isinstance(node, ast.FunctionDef))

    def inside(self, name: str) -> frozenset[int]:
        """Identities of the nodes within top-level functions called ``name``."""
        return frozenset(
            id(inner)
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef) and node.name == name
            for inner in ast.walk(node)
        )


def _dotted(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        if len(parts) >= _DEEPEST:
            return ""
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def root_name(node: ast.AST) -> str:
    """The name at the start of ``a.b[c].d``; ``""`` if there is none."""
    for _ in range(_DEEPEST):
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Name):
            return node.id
        else:
            break
    return ""


def names_in(node: ast.AST) -> frozenset[str]:
    """Every name that is read or bound below ``node``."""
    return frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def literal(node: ast.AST | None) -> object:
    """Value of a constant; ``...`` for anything else."""
    return node.value if isinstance(node, ast.Constant) else ...
