"""What the text of a suggested rule may hold. It is read, never run, here.

The list is short on purpose: a rule names shapes and access maps, and needs nothing of the machine. Text within
it can still be wrong, which emulation finds out; it cannot reach files, processes or the interpreter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

MOST_CHARACTERS = 8_000
IMPORTS = {
    "__future__": {"annotations"},
    "collections.abc": {"Iterable", "Iterator", "Sequence"},
    "math": {"prod"},
    "solbench.bound._lifted": {"Alias", "Lifted", "Map", "Operand", "Reshape"},
    "solbench.bound._access": {"Along", "Fixed", "Whole", "broadcast", "identity"},
    "solbench.bound.rules._base": {"Call", "MissingRule", "rule"},
    "solbench.bound.rules": {"Call", "MissingRule", "rule"},
}
"""Module → names that may be imported from it."""
ATTRIBUTES = frozenset(
    (
        "args", "created", "dim", "dims", "dtype", "einsum", "everything", "first", "has", "id",
        "is_floating_point", "lines", "moved", "number", "numel", "operand", "outputs", "pointwise",
        "reduce", "reshaped", "results", "shape", "temporary", "tensors", "value", "append", "index",
        "extend", "items", "get",
    )
)  # fmt: skip
"""Of the call, its values, and of plain lists, tuples and dicts."""
FUNCTIONS = frozenset(
    (
        "abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "len", "list", "max", "min",
        "range", "reversed", "set", "sorted", "str", "sum", "tuple", "zip",
    )
)  # fmt: skip
_FORBIDDEN = (
    ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.With, ast.AsyncWith, ast.Try,
    ast.TryStar, ast.While, ast.Await, ast.AsyncFor, ast.Delete, ast.Import, ast.NamedExpr, ast.Match,
    ast.Lambda, ast.JoinedStr, ast.FormattedValue,
)  # fmt: skip


def complaints(text: str, op: str) -> tuple[str, ...]:
    """Everything that keeps a text from being tried as the rule of ``op``; empty if nothing does."""
    if len(text) > MOST_CHARACTERS:
        return (f"it has more than {MOST_CHARACTERS} characters",)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return (f"it is no Python: {error}",)
    found = list(_of_module(tree, op))
    known = FUNCTIONS | _defined(tree)
    for node in ast.walk(tree):
        found += _of_node(node, known)
    return tuple(dict.fromkeys(found))


def _of_module(tree: ast.Module, op: str) -> Iterator[str]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    rules = [function for function in functions if function.decorator_list]
    for node in tree.body:
        plain = isinstance(node, ast.ImportFrom | ast.FunctionDef) or _is_docstring(node)
        if not plain:
            yield f"line {node.lineno}: only imports and functions may stand at the top"
    if len(rules) != 1 or not _registers(rules[0], op):
        yield f"exactly one function must be decorated, with @rule({op!r})"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _registers(function: ast.FunctionDef, op: str) -> bool:
    if len(function.decorator_list) != 1:
        return False
    call = function.decorator_list[0]
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "rule"
        and not call.keywords
        and [a.value for a in call.args if isinstance(a, ast.Constant)] == [op]
        and len(call.args) == 1
    )


def _defined(tree: ast.Module) -> frozenset[str]:
    names = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    names |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return frozenset(names)


def _of_node(node: ast.AST, known: frozenset[str]) -> Iterator[str]:
    line = getattr(node, "lineno", 0)
    if isinstance(node, _FORBIDDEN):
        yield f"line {line}: {type(node).__name__} is not allowed in a rule"
    elif isinstance(node, ast.ImportFrom):
        allowed = IMPORTS.get(node.module or "", set())
        for alias in node.names:
            if node.level or alias.name not in allowed or (alias.asname or "").startswith("_"):
                yield f"line {line}: may not import {alias.name} from {node.module}"
    elif isinstance(node, ast.Attribute):
        if node.attr not in ATTRIBUTES or not isinstance(node.ctx, ast.Load):
            yield f"line {line}: may not use the attribute '{node.attr}'"
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id not in known or node.id.startswith("__"):
            yield f"line {line}: may not use the name '{node.id}'"
    elif isinstance(node, ast.Name) and (node.id.startswith("__") or node.id in FUNCTIONS):
        yield f"line {line}: may not assign to '{node.id}'"
    elif isinstance(node, ast.FunctionDef) and (
        node.name.startswith("_") and node.name.endswith("_")
    ):
        yield f"line {line}: may not be called '{node.name}'"
