"""Answers that are kept from one call to another, and calls that are counted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile, literal, names_in, root_name
from solbench.judge.guard._registry import Hit, python_rule

_ROOM = frozenset(
    {"empty", "empty_like", "zeros", "zeros_like", "ones", "full", "new_empty", "new_zeros",
     "empty_strided", "Stream", "Event", "CUDAGraph", "data_ptr", "size", "stride", "len", "tuple"}
)  # fmt: skip
"""Calls that make room and compute nothing."""
_SHAPES = frozenset({"shape", "dtype", "device", "data_ptr", "size", "stride", "numel", "ndim"})


@python_rule("answer_kept")
def answer_kept(file: PythonFile) -> Iterator[Hit]:
    """Something computed from the inputs is put where later calls find it, and copied to an output."""
    for function in file.functions():
        parameters = {each.arg for each in (*function.args.posonlyargs, *function.args.args)}
        inputs = parameters - file.output_parameters - file.stores
        kept = dict(_kept(file, function, frozenset(inputs)))
        for node in ast.walk(function):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr == "copy_" and node.args:
                store = _store_key(node.args[0])
                line = kept.get(store)
                if store and line is not None:
                    yield line, f"'{store.partition('[')[0]}' keeps a result for later calls"


def _kept(
    file: PythonFile, function: ast.FunctionDef, inputs: frozenset[str]
) -> Iterator[tuple[str, int]]:
    """Store and line of results that outlive the call."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                key = _store_key(target)
                outlives = root_name(target) in file.stores | inputs | {"self"}
                if key and outlives and _computes(file, value, inputs):
                    yield key, node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            held, method = root_name(node.func.value), node.func.attr
            if held in file.stores | {"self"} and method in ("append", "setdefault", "update"):
                values = [*node.args, *(each.value for each in node.keywords)]
                if any(_computes(file, each, inputs) for each in values):
                    for key in (held, f"{held}[]"):
                        yield key, node.lineno


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets:
        if (
            isinstance(target, ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(target.elts) == len(node.value.elts)
        ):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


def _store_key(node: ast.expr) -> str:
    """``cache[]`` for an entry under a computed key, ``held['y']`` under a fixed one, ``answer`` for a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript):
        fixed = literal(node.slice)
        return f"{root_name(node)}[{'' if fixed is ... or isinstance(fixed, int) else repr(fixed)}]"
    if isinstance(node, ast.Attribute):
        return f"{root_name(node)}.{node.attr}"
    return ""


def _computes(file: PythonFile, value: ast.expr, inputs: frozenset[str]) -> bool:
    """Whether arithmetic is done on an input's values."""
    for node in ast.walk(value):
        if isinstance(node, ast.BinOp) and _uses_values(node, inputs):
            return True
        if isinstance(node, ast.Call) and file.name(node.func).startswith("torch."):
            made = file.name(node.func).rpartition(".")[2]
            if made not in _ROOM and any(_uses_values(each, inputs) for each in node.args):
                return True
    return False


def _uses_values(node: ast.AST, inputs: frozenset[str]) -> bool:
    """Whether an input stands there as itself, not only its shape or address."""
    if isinstance(node, ast.Name):
        return node.id in inputs
    if isinstance(node, ast.Attribute) and node.attr in _SHAPES:
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return False
    return any(_uses_values(each, inputs) for each in ast.iter_child_nodes(node))


@python_rule("keyed_by_identity")
def keyed_by_identity(file: PythonFile) -> Iterator[Hit]:
    """Tensors are told apart by id() or by their version counter, which no computation needs."""
    for call, name in file.calls:
        if name == "id" and call.args and root_name(call.args[0]) in file.parameters:
            yield call.lineno, f"id({root_name(call.args[0])})"
    for node, _ in file.attributes:
        if node.attr in ("_version", "_cdata"):
            yield node.lineno, f".{node.attr} is read"


@python_rule("call_counter")
def call_counter(file: PythonFile) -> Iterator[Hit]:
    """Calls are counted, and a branch depends on how many there were."""
    if file.entry is None:
        return
    counted = {
        root_name(node.target)
        for node in ast.walk(file.entry)
        if isinstance(node, ast.AugAssign) and root_name(node.target) in file.stores
    }
    counted |= {
        root_name(node.targets[0])
        for node in ast.walk(file.entry)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.BinOp)
        and root_name(node.targets[0]) in file.stores & names_in(node.value)
    }
    for node in ast.walk(file.entry):
        if (
            isinstance(node, ast.Compare)
            and root_name(node.left) in counted
            and isinstance(literal(node.comparators[0]), int)
        ):
            yield node.lineno, f"a branch on '{root_name(node.left)}', which counts calls"


@python_rule("cached_function")
def cached_function(file: PythonFile) -> Iterator[Hit]:
    """A function with a cache is called with an input's address or identity."""
    cached = {
        function.name
        for function in file.functions()
        for decorator in function.decorator_list
        if file.name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        in ("functools.lru_cache", "functools.cache")
    }
    for call, name in file.calls:
        if name in cached and any(
            isinstance(each, ast.Call)
            and isinstance(each.func, ast.Attribute)
            and each.func.attr == "data_ptr"
            for argument in call.args
            for each in ast.walk(argument)
        ):
            yield call.lineno, f"{name}() remembers what it made for an address"


@python_rule("saved_tensor")
def saved_tensor(file: PythonFile) -> Iterator[Hit]:
    """Tensors are read from files."""
    for call, name in file.calls:
        if name in ("torch.load", "numpy.load", "numpy.fromfile", "torch.from_file"):
            yield call.lineno, f"{name}()"
