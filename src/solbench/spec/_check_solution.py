"""What can be told about a solution before anything is built."""

from __future__ import annotations

import re
from collections.abc import Iterator

from solbench.errors import SpecError
from solbench.spec._definition import Definition
from solbench.spec._document import Document, unknown_keys
from solbench.spec._python_source import defines, parse_python, signature_of
from solbench.spec._solution import Solution


def solution_errors(
    document: Document, solution: Solution, definition: Definition | None
) -> Iterator[SpecError]:
    """It cannot work: wrong definition, no such entry point, wrong number of arguments."""
    if definition is not None and solution.definition != definition.name:
        yield document.error(
            ("definition",),
            f"'{solution.definition}' is not the problem here, which is '{definition.name}'",
        )
        definition = None
    if solution.spec.native:
        yield from _native_entry_errors(document, solution)
    else:
        yield from _python_errors(document, solution, definition)


def signature_error(solution: Solution, definition: Definition) -> str | None:
    """Why the Python entry point cannot be called as the problem will call it; ``None`` if it can.

    Destination passing: inputs, then outputs. A signature behind an unknown decorator is let pass.
    """
    if solution.spec.native:
        return None
    spec = solution.spec
    try:
        tree = parse_python(solution.source(spec.entry_file))
    except SpecError as error:
        return f"{_place(spec.entry_file, error)} {error.what}"
    if not defines(tree, spec.entry_function):
        return f"{spec.entry_file} does not define '{spec.entry_function}' at top level"
    signature = signature_of(tree, spec.entry_function)
    inputs, outputs = len(definition.inputs), len(definition.outputs)
    count = inputs + outputs if spec.destination_passing_style else inputs
    if signature is None or signature.accepts(count):
        return None
    style = f"{inputs} inputs and {outputs} outputs" if count > inputs else f"{inputs} inputs"
    return (
        f"'{spec.entry_function}' ({spec.entry_file} line {signature.line}) {signature}, "
        f"but is called with {style}"
    )


def _python_errors(
    document: Document, solution: Solution, definition: Definition | None
) -> Iterator[SpecError]:
    entry_parses = True
    for index, source in enumerate(solution.sources):
        if not source.path.endswith(".py") and source.path != solution.spec.entry_file:
            continue
        try:
            parse_python(source.content)
        except SpecError as error:
            yield document.error(("sources", index), f"{_place(source.path, error)} {error.what}")
            entry_parses &= source.path != solution.spec.entry_file
    if not entry_parses:
        return
    undefined = list(_undefined_entry(document, solution))
    yield from undefined
    if undefined or definition is None:
        return
    problem = signature_error(solution, definition)
    if problem:
        remedy = "Without destination passing, set 'destination_passing_style' to false."
        passing = solution.spec.destination_passing_style
        yield document.error(("spec", "entry_point"), problem, remedy if passing else None)


def _place(path: str, error: SpecError) -> str:
    return f"{path} line {error.line}" if error.line else path


def _undefined_entry(document: Document, solution: Solution) -> Iterator[SpecError]:
    spec = solution.spec
    if not defines(parse_python(solution.source(spec.entry_file)), spec.entry_function):
        yield document.error(
            ("spec", "entry_point"),
            f"{spec.entry_file} does not define '{spec.entry_function}' at top level",
        )


def _native_entry_errors(document: Document, solution: Solution) -> Iterator[SpecError]:
    function = re.compile(rf"\b{re.escape(solution.spec.entry_function)}\b")
    if not any(function.search(source.content) for source in solution.sources):
        yield document.error(
            ("spec", "entry_point"),
            f"no source mentions '{solution.spec.entry_function}'",
            "Name the function that the sources define.",
        )


def solution_warnings(document: Document, solution: Solution) -> Iterator[SpecError]:
    """Keys that nobody reads, settings without effect."""
    for path in unknown_keys(solution):
        yield document.error(path, "unknown key, kept")
    if not solution.spec.native and solution.spec.binding is not None:
        yield document.error(("spec", "binding"), "has no effect on a Python solution")
    if not solution.spec.native and solution.spec.compile_options is not None:
        yield document.error(("spec", "compile_options"), "has no effect on a Python solution")
