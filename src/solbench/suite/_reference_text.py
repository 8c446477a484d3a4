"""The text of an exported reference: the file's own code, its generators, and ``make_inputs``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from solbench import spec
from solbench.errors import InputError
from solbench.suite._draw import Drawn, Value
from solbench.suite._form import Input, Problem, Scalar
from solbench.suite._generator_text import generator_source, wants_shape
from solbench.suite._source import ProblemSource

ENTRYPOINT = "make_inputs"
_LINE_LENGTH = 100


def reference_text(source: ProblemSource) -> str:
    """One Python source that imports torch and no part of solbench; byte-stable."""
    problem = source.problem
    parts = [source.reference.rstrip()]
    generators = generator_source(_generators(problem))
    if generators:
        parts.append("# Generators of this problem's inputs.\n\n\n" + generators)
    parts.append("\n".join(_entrypoint(problem)))
    text = "\n\n\n".join(parts) + "\n"
    _refuse_twice_defined(source, text)
    return text


def _generators(problem: Problem) -> list[str]:
    return [
        each.values.function
        for each in problem.inputs.values()
        if isinstance(each, Input) and not each.values.computed
    ]


def _entrypoint(problem: Problem) -> Iterator[str]:
    yield f"def {ENTRYPOINT}(axes, device):"
    yield "    made = {}"
    groups: dict[Drawn, str] = {}
    for name, each in problem.inputs.items():
        if not isinstance(each, Input):
            continue
        drawn = each.values
        if drawn.part is None:
            yield from _assignment(f'made["{name}"]', drawn.function, _arguments(problem, each))
            continue
        whole = drawn[""]
        if whole not in groups:
            groups[whole] = f"group_{len(groups) + 1}"
            yield from _assignment(groups[whole], drawn.function, _arguments(problem, each))
        yield f'    made["{name}"] = {groups[whole]}[{_quoted(drawn.part)}]'
    yield "    return made"


def _quoted(part: str | int) -> str:
    return str(part) if isinstance(part, int) else f'"{part}"'


def _assignment(target: str, function: str, arguments: list[str]) -> Iterator[str]:
    line = f"    {target} = {function}({', '.join(arguments)})"
    if len(line) <= _LINE_LENGTH:
        yield line
        return
    yield f"    {target} = {function}("
    yield from (f"        {argument}," for argument in arguments)
    yield "    )"


def _arguments(problem: Problem, each: Input) -> list[str]:
    drawn = each.values
    if drawn.computed:
        return [_made(problem, name) for name in drawn.inputs]
    parameters = [f"{key}={_value(problem, value)}" for key, value in drawn.parameters]
    if not wants_shape(drawn.function):
        return ["device", *parameters]
    sizes = ", ".join(_size(problem, entry) for entry in each.type.shape)
    shape = f"({sizes},)" if len(each.type.shape) == 1 else f"({sizes})"
    dtype = "torch." + spec.dtype_of(each.type.dtype).torch_name
    return [shape, dtype, "device", *parameters]


def _made(problem: Problem, name: str) -> str:
    """The entrypoint is given scalars together with the axes."""
    return f'axes["{name}"]' if isinstance(problem.inputs.get(name), Scalar) else f'made["{name}"]'


def _value(problem: Problem, value: Value) -> str:
    return _size(problem, value) if isinstance(value, str) else repr(value)


def _size(problem: Problem, entry: str) -> str:
    if entry.isdigit():
        return entry
    if entry not in problem.axes:
        raise InputError(
            f"{problem.name}: '{entry}' is no axis", remedy=f"It has: {', '.join(problem.axes)}."
        )
    return f'axes["{entry}"]'


def _refuse_twice_defined(source: ProblemSource, text: str) -> None:
    seen: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            if node.name in seen:
                raise InputError(
                    f"the reference defines '{node.name}', which is also a generator",
                    file=source.file,
                    remedy="Give yours another name.",
                )
            seen.add(node.name)
