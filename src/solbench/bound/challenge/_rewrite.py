"""Smaller versions of a reference: fewer outputs, fewer statements, simpler expressions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

ENTRY = "run"


def size_of(source: str) -> int:
    """How much program there is: nodes of the syntax tree."""
    return sum(1 for _ in ast.walk(ast.parse(source)))


def parameters(source: str) -> tuple[str, ...]:
    """Names that ``run`` takes, in order."""
    return tuple(a.arg for a in _entry(ast.parse(source)).args.args)


def without_parameters(source: str, unused: set[str]) -> str:
    """The same program without inputs that it does not read."""
    tree = ast.parse(source)
    entry = _entry(tree)
    entry.args.args = [a for a in entry.args.args if a.arg not in unused]
    entry.args.defaults = []
    return ast.unparse(tree)


def unread_parameters(source: str) -> set[str]:
    entry = _entry(ast.parse(source))
    read = {n.id for s in entry.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    return {a.arg for a in entry.args.args} - read


def smaller(source: str) -> Iterator[str]:
    """Candidates, the boldest first; many of them do not run, which is for the caller to find."""
    for tree in (*_other_results(source), *_without_statements(source), *_simpler(source)):
        ast.fix_missing_locations(tree)
        yield ast.unparse(_tidied(tree))


def _entry(tree: ast.Module) -> ast.FunctionDef:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == ENTRY:
            return statement
    raise ValueError(f"the reference defines no function '{ENTRY}'")


def _other_results(source: str) -> Iterator[ast.Module]:
    """Return one of several outputs, or a value from the middle of the program, the earliest first."""
    tree = ast.parse(source)
    entry = _entry(tree)
    last = entry.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return
    names = [
        target.id
        for statement in entry.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    parts: list[ast.expr] = [ast.Name(name, ast.Load()) for name in dict.fromkeys(names)]
    if isinstance(last.value, ast.Tuple | ast.List):
        parts += last.value.elts
    elif isinstance(last.value, ast.Dict):
        parts += last.value.values
    for part in parts:
        if ast.dump(part) == ast.dump(last.value):
            continue
        changed = copy.deepcopy(tree)
        _entry(changed).body[-1] = ast.Return(copy.deepcopy(part))
        yield changed


def _without_statements(source: str) -> Iterator[ast.Module]:
    tree = ast.parse(source)
    for index in range(len(_entry(tree).body) - 1):
        changed = copy.deepcopy(tree)
        del _entry(changed).body[index]
        yield changed


def _simpler(source: str) -> Iterator[ast.Module]:
    """Replace one expression by a part of it: a call by its argument, a sum by one of its terms."""
    tree = ast.parse(source)
    places = [n for n in ast.walk(_entry(tree)) if isinstance(n, ast.expr)]
    for place, expression in enumerate(places):
        for number, _ in enumerate(_parts(expression)):
            changed = copy.deepcopy(tree)
            twin = [n for n in ast.walk(_entry(changed)) if isinstance(n, ast.expr)][place]
            part = list(_parts(twin))[number]
            _Swap(twin, part).visit(changed)
            yield changed


def _parts(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.Call):
        if isinstance(expression.func, ast.Attribute):
            yield expression.func.value
        yield from expression.args
    elif isinstance(expression, ast.BinOp):
        yield expression.left
        yield expression.right
    elif isinstance(expression, ast.UnaryOp):
        yield expression.operand
    elif isinstance(expression, ast.Subscript | ast.Attribute):
        yield expression.value


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def _tidied(tree: ast.Module) -> ast.Module:
    """Without assignments to names that nothing reads."""
    entry = _entry(tree)
    while True:
        read = {
            n.id for n in ast.walk(entry) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        kept = [s for s in entry.body if not _is_unread(s, read)]
        if len(kept) == len(entry.body):
            return tree
        entry.body = kept


def _is_unread(statement: ast.stmt, read: set[str]) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return True
    return isinstance(statement, ast.Assign) and all(
        isinstance(t, ast.Name) and t.id not in read for t in statement.targets
    )
