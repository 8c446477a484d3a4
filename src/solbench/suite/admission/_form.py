"""Gates of form: the exported files, and the sizes they declare."""

from __future__ import annotations

import tempfile
from pathlib import Path

from solbench import spec
from solbench.suite._export import SMOKE_FILE, build, export_to
from solbench.suite._source import ProblemSource
from solbench.suite.admission._answer import Answer, unless

SMOKE_BYTES = 16 << 20
FULL_BYTES = 8 << 30


def exports_unchanged(source: ProblemSource) -> Answer:
    """The exported folder reads back as what was written, and writes the same bytes again."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        first = export_to(source, Path(scratch) / "first")
        second = export_to(source, Path(scratch) / "second")
        for file in sorted(first.iterdir()):
            if file.read_bytes() != (second / file.name).read_bytes():
                problems.append(f"{file.name} differs between two exports")
        for smoke, name in ((False, "workload.jsonl"), (True, SMOKE_FILE)):
            read = spec.load_problem(first, workload_file=name)
            problems += read.warnings
            if read.digest != build(source, smoke=smoke).digest:
                problems.append(f"{name} reads back differently")
            if len({workload.uuid for workload in read.workloads}) != len(read.workloads):
                problems.append(f"{name} has a workload twice")
    return unless(problems)


def sizes_within_limits(source: ProblemSource) -> Answer:
    """Declared inputs and outputs: at most 16 MiB for a smoke workload, 8 GiB for a full one."""
    problems: list[str] = []
    largest = 0
    for smoke, limit in ((True, SMOKE_BYTES), (False, FULL_BYTES)):
        problem = build(source, smoke=smoke)
        for workload in problem.workloads:
            size = _declared_bytes(problem, workload)
            largest = max(largest, size)
            if size > limit:
                problems.append(f"{workload.axes} declares {size} bytes, more than {limit}")
    return unless(problems, f"largest {largest / 2**20:.0f} MiB")


def _declared_bytes(problem: spec.Problem, workload: spec.Workload) -> int:
    total = sum(layout.nbytes for layout in spec.input_layout(problem, workload))
    for name, tensor in problem.definition.outputs.items():
        count = 1
        for size in problem.output_shape(workload, name) or ():
            count *= size
        total += count * spec.dtype_of(tensor.dtype).bytes_per_element
    return total
