"""The files of a problem folder, read to the end, and everything that is odd or wrong in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from solbench.errors import AxisError, SpecError
from solbench.spec._axes import check_constraint, holds
from solbench.spec._definition import Definition
from solbench.spec._document import (
    Document,
    flatten,
    json_lines,
    parse_json,
    read_text,
    unknown_keys,
    validated,
)
from solbench.spec._dtypes import dtype_of
from solbench.spec._json_positions import dotted
from solbench.spec._python_source import defines, parse_python, signature_of
from solbench.spec._shapes import axis_values, declared_shape
from solbench.spec._workload import (
    MISSPELT_RATIO,
    CustomInput,
    RandomInput,
    ScalarInput,
    Workload,
)

DEFINITION_FILE = "definition.json"
WORKLOAD_FILE = "workload.jsonl"
REFERENCE_FILE = "reference.py"


@dataclass(frozen=True)
class ProblemFiles:
    """What the files of a problem hold, and everything that is wrong with them."""

    definition: Definition | None
    workloads: tuple[Workload, ...]
    errors: tuple[SpecError, ...]
    """It cannot be loaded."""
    warnings: tuple[SpecError, ...]
    """It can, but a reader should know; perhaps that one workload cannot be run."""


def read_problem_files(definition_file: Path, workload_file: Path) -> ProblemFiles:
    """Read both files to the end, whatever is wrong with them."""
    errors: list[SpecError] = []
    warnings: list[SpecError] = []
    definition: Definition | None = None
    lines: list[tuple[Document, Workload]] = []
    try:
        document, definition = read_definition(definition_file)
        errors += reference_errors(document, definition)
        warnings += definition_warnings(document, definition)
    except SpecError as error:
        errors += flatten(error)
    try:
        lines, line_errors = read_workloads(workload_file)
        errors += line_errors
    except SpecError as error:
        errors += flatten(error)
    warnings += workload_warnings(lines)
    if definition is not None:
        for line, workload in lines:
            warnings += workload_errors(definition, line, workload)
            warnings += mismatch_warnings(definition, line, workload)
    workloads = tuple(workload for _, workload in lines)
    return ProblemFiles(definition, workloads, tuple(errors), tuple(warnings))


def read_definition(file: Path) -> tuple[Document, Definition]:
    """A definition file; its reference may stand in ``reference.py`` beside it."""
    document = parse_json(read_text(file), file)
    beside = file.parent / REFERENCE_FILE
    if isinstance(document.value, dict) and "reference" not in document.value and beside.is_file():
        document.value["reference"] = read_text(beside)
    return document, validated(Definition, document)


def read_workloads(
    file: Path,
) -> tuple[list[tuple[Document, Workload]], list[SpecError]]:
    """Every good line of a workload file with its place, and what is wrong with the others."""
    good: list[tuple[Document, Workload]] = []
    errors: list[SpecError] = []
    first_line: dict[str, int] = {}
    for line in json_lines(file):
        if isinstance(line, SpecError):
            errors += flatten(line)
            continue
        try:
            workload = validated(Workload, line)
        except SpecError as error:
            errors += flatten(error)
            continue
        if workload.uuid in first_line:
            what = f"'{workload.uuid}' stands on line {first_line[workload.uuid]} already"
            errors.append(line.error(("uuid",), what, "Results are keyed by it: choose another."))
        first_line.setdefault(workload.uuid, line.first_line)
        good.append((line, workload))
    if not good and not errors:
        errors.append(SpecError("holds no workload", file=file, remedy="One JSON object a line."))
    return good, errors


def reference_errors(document: Document, definition: Definition) -> Iterator[SpecError]:
    """The reference parses, defines what it must, and ``run`` takes the declared inputs."""
    try:
        tree = parse_python(definition.reference)
    except SpecError as error:
        place = f" (its line {error.line})" if error.line else ""
        yield document.error(("reference",), f"{error.what}{place}")
        return
    if not defines(tree, "run"):
        yield document.error(("reference",), "does not define 'run'", "Define it at top level.")
    entrypoint = definition.custom_inputs_entrypoint
    if entrypoint is not None and not defines(tree, entrypoint):
        yield document.error(
            ("custom_inputs_entrypoint",),
            f"the reference does not define '{entrypoint}'",
            "Define it at top level, or set this to null.",
        )
    signature = signature_of(tree, "run")
    count = len(definition.inputs)
    if signature is not None and not signature.accepts(count):
        yield document.error(
            ("reference",),
            f"'run' (its line {signature.line}) {signature}, but {count} inputs are declared",
            "It is called with the inputs by position, in their declared order.",
        )


def definition_warnings(document: Document, definition: Definition) -> Iterator[SpecError]:
    """Unknown keys, constraints that are no axis expressions, a reference.py that differs."""
    for path in unknown_keys(definition):
        yield document.error(path, "unknown key, kept")
    for index, constraint in enumerate(definition.constraints):
        try:
            check_constraint(constraint, definition.axes.keys())
        except AxisError as error:
            yield document.error(("constraints", index), f"not checked: {error.what}")
    for name in definition.inputs.keys() & definition.outputs.keys():
        yield document.error(("outputs", name), "has the name of an input")
    beside = Path(document.file).parent / REFERENCE_FILE
    if beside.is_file() and read_text(beside).strip() != definition.reference.strip():
        yield SpecError(
            f"differs from 'reference' in {DEFINITION_FILE}, which counts",
            file=beside,
        )


def workload_warnings(lines: Sequence[tuple[Document, Workload]]) -> Iterator[SpecError]:
    """Unknown keys, each once a file, at the first line that has it."""
    reported: set[str] = set()
    for line, workload in lines:
        for path in unknown_keys(workload):
            key = dotted(path)
            if key in reported:
                continue
            reported.add(key)
            if path == ("tolerance", MISSPELT_RATIO):
                ratio = workload.tolerance.required_matched_ratio
                count = sum(other.tolerance.ratio_is_misspelt for _, other in lines)
                yield line.error(
                    path,
                    f"misspelt (on {count} of {len(lines)} lines) and without effect: the ratio is {ratio}",
                    "The name is 'required_matched_ratio'.",
                )
            else:
                yield line.error(path, "unknown key, kept")


def mismatch_warnings(
    definition: Definition, line: Document, workload: Workload
) -> Iterator[SpecError]:
    """Parts of a workload that the definition does not know, or that contradict it."""
    for name in workload.axes:
        if name not in definition.axes:
            yield line.error(("axes", name), "is no axis of the definition; ignored")
    for name, descriptor in workload.inputs.items():
        if name not in definition.inputs:
            yield line.error(("inputs", name), "is no input of the definition; ignored")
        elif isinstance(descriptor, ScalarInput) and definition.inputs[name].shape:
            yield line.error(("inputs", name), "a scalar is given where a tensor is declared")
    yield from _broken_constraints(definition, line, workload)


def _broken_constraints(
    definition: Definition, line: Document, workload: Workload
) -> Iterator[SpecError]:
    for constraint in definition.constraints:
        try:
            broken = not holds(constraint, axis_values(definition, workload))
        except AxisError:
            continue  # reported by definition_warnings or workload_errors
        if broken:
            yield line.error(("axes",), f"the constraint '{constraint}' does not hold")


def workload_errors(
    definition: Definition, line: Document, workload: Workload
) -> Iterator[SpecError]:
    """Why this workload cannot be run."""
    try:
        values = axis_values(definition, workload)
    except AxisError as error:
        yield line.error(("axes", error.key or ""), error.what, error.remedy)
        return
    for name, tensor in definition.inputs.items():
        descriptor = workload.inputs.get(name)
        key = ("inputs", name)
        if isinstance(descriptor, CustomInput):
            if definition.custom_inputs_entrypoint is None:
                yield line.error(
                    key,
                    "is custom, but the definition names no entrypoint",
                    "Set 'custom_inputs_entrypoint' in the definition.",
                )
        elif dtype_of(tensor.dtype).packed and isinstance(descriptor, RandomInput | None):
            shape = declared_shape(tensor, values)
            if not shape or shape[-1] % 2:
                yield line.error(
                    key, f"a random {tensor.dtype} tensor needs an even last size, not {shape}"
                )
