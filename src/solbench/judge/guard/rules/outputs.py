"""What is done with outputs, and with tensors that are none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile, root_name
from solbench.judge.guard._registry import Hit, python_rule

_DISGUISES = frozenset(
    {"torch.Tensor", "torch.nn.Parameter", "torch.overrides.TorchFunctionMode",
     "torch.utils._python_dispatch.TorchDispatchMode"}
)  # fmt: skip
_FAKES = ("torch._subclasses", "torch.overrides.TorchFunctionMode", "torch.utils._python_dispatch")


@python_rule("output_read")
def output_read(file: PythonFile) -> Iterator[Hit]:
    """A branch depends on what an output holds before it is written."""
    if file.entry is None:
        return
    for node in ast.walk(file.entry):
        if isinstance(node, ast.If | ast.IfExp):
            for part in ast.walk(node.test):
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
                    held = root_name(part.func)
                    if held in file.output_parameters and part.func.attr not in _ABOUT:
                        yield node.lineno, f"a branch on what '{held}' holds"


_ABOUT = frozenset({"data_ptr", "size", "stride", "is_contiguous", "dim", "numel", "element_size"})


@python_rule("tensor_disguise", "alarm")
def tensor_disguise(file: PythonFile) -> Iterator[Hit]:
    """Tensors that compute when they are looked at, or that only pretend to hold values."""
    for node in file.nodes:
        if isinstance(node, ast.ClassDef):
            if any(file.name(base) in _DISGUISES for base in node.bases):
                yield node.lineno, f"class {node.name} stands in for tensors or their functions"
        elif isinstance(node, ast.FunctionDef) and node.name in (
            "__torch_function__",
            "__torch_dispatch__",
        ):
            yield node.lineno, f"{node.name} is defined"
    for line, name in file.imports:
        if name.startswith(_FAKES):
            yield line, f"imports {name}"


@python_rule("inputs_wiped")
def inputs_wiped(file: PythonFile) -> Iterator[Hit]:
    """An input is set to a constant."""
    if file.entry is None or not file.output_parameters:
        return
    inputs = set(file.parameters) - file.output_parameters
    for node in ast.walk(file.entry):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            held = root_name(node.func.value)
            if node.func.attr in ("zero_", "fill_") and held in inputs:
                yield node.lineno, f"'{held}' is overwritten with a constant"


@python_rule("answer_in_input")
def answer_in_input(file: PythonFile) -> Iterator[Hit]:
    """An output is copied back into an input."""
    inputs = set(file.parameters) - file.output_parameters
    for call, _ in file.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "copy_" and call.args:
            into, source = root_name(call.func.value), call.args[0]
            named = isinstance(source, ast.Name) and source.id in file.output_parameters
            if named and into in inputs and isinstance(source, ast.Name):
                yield call.lineno, f"the answer '{source.id}' is left in '{into}'"


@python_rule("constant_answer")
def constant_answer(file: PythonFile) -> Iterator[Hit]:
    """The entry writes nothing but constants, or nothing at all."""
    if file.entry is None or not file.output_parameters:
        return
    statements = [each for each in file.entry.body if not _is_words(each)]
    used = {
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    writes = any(isinstance(each, ast.Raise) for each in statements)
    inputs = set(file.parameters) - file.output_parameters
    if not writes and not used & inputs:
        yield file.entry.lineno, "no input is used"


def _is_words(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@python_rule("failure_swallowed")
def failure_swallowed(file: PythonFile) -> Iterator[Hit]:
    """The entry catches its own failure and goes on as if nothing were."""
    if file.entry is None:
        return
    for node in ast.walk(file.entry):
        if isinstance(node, ast.ExceptHandler) and all(
            isinstance(each, ast.Pass) or _is_words(each) for each in node.body
        ):
            yield node.lineno, "a failure is passed over"
