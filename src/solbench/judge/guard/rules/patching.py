"""Changing what belongs to others: torch, clocks, the import system, the end of the process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile, literal, root_name
from solbench.judge.guard._registry import Hit, SubjectHit, python_rule, subject_rule
from solbench.judge.guard._subject import Subject

_SETTINGS = ("config", "backends", "options", "knobs")
"""Parts of a name below which values are meant to be set."""
_MACHINERY = ("sys.modules", "sys.meta_path", "sys.path_hooks", "sys.path_importer_cache")
_CHANGERS = frozenset({"append", "insert", "pop", "clear", "update", "setdefault", "extend"})
_HOOKS = frozenset(
    {"atexit.register", "sys.settrace", "sys.setprofile", "sys.addaudithook", "threading.settrace",
     "threading.setprofile", "gc.callbacks.append", "weakref.finalize"}
)  # fmt: skip
_SHADOWING = frozenset(
    {"torch", "numpy", "triton", "solbench", "sitecustomize", "usercustomize", "conftest", "time",
     "sys", "os", "ctypes", "builtins", "threading", "gc", "json", "ast", "importlib", "typing"}
)  # fmt: skip


@python_rule("monkey_patch", "alarm")
def monkey_patch(file: PythonFile) -> Iterator[Hit]:
    """An attribute of an imported module or class is replaced."""
    for node in file.nodes:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            for target in _targets(node):
                name = file.name(target)
                if isinstance(target, ast.Attribute) and _is_others(file, target, name):
                    yield node.lineno, f"{name} is replaced"
    for call, name in file.calls:
        setter = name in ("setattr", "delattr", "object.__setattr__", "type.__setattr__")
        if setter and call.args and _is_others(file, call.args[0], file.name(call.args[0])):
            yield call.lineno, f"an attribute of {file.name(call.args[0])} is replaced"
        elif name.startswith(("unittest.mock.patch", "ctypes.pythonapi.PyType_Modified")):
            yield call.lineno, f"{name} patches"


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete) -> Iterator[ast.expr]:
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
    for target in targets:
        yield from target.elts if isinstance(target, ast.Tuple | ast.List) else (target,)


def _is_others(file: PythonFile, node: ast.expr, name: str) -> bool:
    if root_name(node) not in file.aliases or not name:
        return False
    parts = name.split(".")
    own = parts[0] in file.subject.own_modules
    return not own and not any(part in _SETTINGS for part in parts)


@python_rule("import_machinery", "alarm")
def import_machinery(file: PythonFile) -> Iterator[Hit]:
    """Loaded modules or the import system are changed."""
    for node in file.nodes:
        if isinstance(node, ast.Assign | ast.Delete):
            for target in _targets(node):
                held = target.value if isinstance(target, ast.Subscript) else target
                if file.name(held) in _MACHINERY:
                    yield node.lineno, f"{file.name(held)} is changed"
    for call, name in file.calls:
        owner, _, method = name.rpartition(".")
        if owner in _MACHINERY and method in _CHANGERS:
            yield call.lineno, f"{owner} is changed"
        elif name == "importlib.reload" and literal(call.args[0] if call.args else None) is ...:
            yield call.lineno, "a module is loaded again"


@python_rule("exit_hooks")
def exit_hooks(file: PythonFile) -> Iterator[Hit]:
    """Code that the interpreter calls by itself: at exit, on every line, on collection."""
    for call, name in file.calls:
        if name in _HOOKS:
            yield call.lineno, f"{name}() has code called behind the caller's back"


@subject_rule("shadowing_file", "alarm")
def shadowing_file(subject: Subject) -> Iterator[SubjectHit]:
    """A source is named so that it is imported in place of a known module."""
    for source in subject.solution.sources:
        top = source.path.partition("/")[0]
        name = top.removesuffix(".py")
        if source.path.endswith(".pth"):
            yield source.path, 0, "a .pth file runs when Python starts"
        elif name in _SHADOWING and (top.endswith(".py") or source.path.endswith(".py")):
            yield source.path, 0, f"would be imported in place of '{name}'"
