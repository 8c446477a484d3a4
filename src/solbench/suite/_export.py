"""From a problem file to the public form: definition, workloads, and one self-contained reference."""

from __future__ import annotations

import uuid
from pathlib import Path

from solbench import spec
from solbench.errors import InputError
from solbench.suite._catalogue import source_of
from solbench.suite._form import AxisValue, Input, Problem, Rows, Scalar, TensorType
from solbench.suite._reference_text import ENTRYPOINT, reference_text
from solbench.suite._source import ProblemSource

SMOKE_FILE = "workload_smoke.jsonl"

_NAMESPACE = uuid.UUID("5dbb2c5e-64a5-5a0f-9b39-6a3f1c1e7d11")
"""Of the workloads' uuids; arbitrary, but never to be changed."""


def load(name: str, *, smoke: bool = False) -> spec.Problem:
    """A problem of the suite, as it would be read from its exported folder.

    With ``smoke`` it has the small workloads that run on a laptop. Raises ``InputError`` for an unknown name.
    """
    return build(source_of(name), smoke=smoke)


def build(source: ProblemSource, *, smoke: bool = False) -> spec.Problem:
    """The exchanged form of a declaration."""
    problem = source.problem
    chosen = problem.smoke if smoke else problem.workloads
    return spec.make_problem(_definition(source), workloads_of(problem, chosen))


def export(name: str, folder: Path) -> Path:
    """Write the problem's folder (``folder/NAME``) in the public form and return it."""
    return export_to(source_of(name), folder)


def export_to(source: ProblemSource, folder: Path) -> Path:
    """As ``export``, of a problem that need not be in the catalogue."""
    full, small = build(source), build(source, smoke=True)
    target = folder / full.name
    target.mkdir(parents=True, exist_ok=True)
    spec.write_json(target / "definition.json", full.definition)
    _write(target / "reference.py", full.definition.reference)
    _write(target / "workload.jsonl", _lines(full))
    _write(target / SMOKE_FILE, _lines(small))
    return target


def _write(file: Path, text: str) -> None:
    file.write_bytes(text.encode())


def _lines(problem: spec.Problem) -> str:
    return "".join(spec.workload_line(workload) + "\n" for workload in problem.workloads)


def _definition(source: ProblemSource) -> spec.Definition:
    problem = source.problem
    return spec.Definition(
        name=problem.name,
        description=problem.description or " ".join(source.docstring.split()),
        op_type=problem.family,
        hf_id=problem.models[0].id if problem.models else None,
        axes={name: _axis(value) for name, value in problem.axes.items()},
        constraints=problem.constraints,
        inputs={name: _input(each) for name, each in problem.inputs.items()},
        outputs={name: _tensor(each) for name, each in problem.output_types().items()},
        custom_inputs_entrypoint=ENTRYPOINT,
        reference=reference_text(source),
        solbench=_own_record(problem),
    )


def _axis(value: AxisValue) -> spec.Axis:
    if isinstance(value, int):
        return spec.ConstAxis(type="const", value=value)
    if isinstance(value, str):
        return spec.ExprAxis(type="expr", expression=value)
    return spec.VarAxis(type="var")


def _input(each: Input | Scalar) -> spec.TensorSpec:
    if isinstance(each, Scalar):
        return spec.TensorSpec(shape=None, dtype=each.dtype)
    return _tensor(each.type)


def _tensor(type: TensorType) -> spec.TensorSpec:
    return spec.TensorSpec(shape=type.shape, dtype=type.dtype)


def _own_record(problem: Problem) -> spec.OwnRecord:
    weights = [n for n, each in problem.inputs.items() if _is_weight(each)]
    gate, policy = problem.gate, problem.policy
    return spec.OwnRecord(
        tier=problem.tier,
        direction=problem.direction,
        models=tuple(
            spec.ModelSource(id=model.id, source=model.source, domain=model.domain, read=model.read)
            for model in problem.models
        ),
        weights=tuple(weights),
        variations=_variations(problem),
        gate=spec.GateMultipliers(
            rms_multiplier=gate.rms_multiplier,
            max_multiplier=gate.max_multiplier,
            reason=gate.reason,
        ),
        policy=spec.Policy(
            prepacked_weights=policy.prepacked_weights,
            library_calls=policy.library_calls,
            lower_precision=policy.lower_precision,
            streams=policy.streams,
        ),
    )


def _variations(problem: Problem) -> dict[spec.VariationKind, tuple[str, ...]]:
    varied: dict[spec.VariationKind, tuple[str, ...]] = {}
    for name, each in problem.inputs.items():
        for kind in each.vary if isinstance(each, Input) else ():
            varied[kind] = (*varied.get(kind, ()), name)
    return varied


def _is_weight(each: Input | Scalar) -> bool:
    return isinstance(each, Input) and each.role == "weight"


def workloads_of(problem: Problem, chosen: Rows) -> tuple[spec.Workload, ...]:
    """One workload for each row of sizes."""
    unknown = set(chosen.axes) - set(problem.axes)
    if unknown:
        raise InputError(f"{problem.name}: workloads name unknown axes {', '.join(unknown)}")
    return tuple(
        spec.Workload(
            uuid=_uuid(problem.name, sizes),
            axes=sizes,
            inputs={n: _descriptor(problem, each, sizes) for n, each in problem.inputs.items()},
        )
        for sizes in chosen.sizes()
    )


def _descriptor(
    problem: Problem, each: Input | Scalar, sizes: dict[str, int]
) -> spec.InputDescriptor:
    if isinstance(each, Input):
        return spec.CustomInput(type="custom")
    value = each.value
    if isinstance(value, str):
        size = sizes.get(value, problem.axes.get(value))
        if not isinstance(size, int):
            raise InputError(f"{problem.name}: '{value}' is no axis with a size of its own")
        value = size
    return spec.ScalarInput(type="scalar", value=value)


def _uuid(name: str, sizes: dict[str, int]) -> str:
    """The same for the same content; the order in which axes are named does not count."""
    content = ",".join(f"{axis}={size}" for axis, size in sorted(sizes.items()))
    return str(uuid.uuid5(_NAMESPACE, f"{name}:{content}"))
