"""The gate of held-out workloads: there is room for secret sizes, and the reference serves them."""

from __future__ import annotations

import torch

from solbench import spec
from solbench.errors import InputError
from solbench.suite._held_out import held_out_of
from solbench.suite._source import ProblemSource
from solbench.suite.admission._answer import Answer, unless

WANTED = 3
"""Held-out workloads that every problem must have room for at full size."""
_SECRET = "the admission test's own"


def held_out_sizes_are_served(source: ProblemSource) -> Answer:
    """Three secret workloads exist; on small ones the reference gives the declared shapes."""
    held_out_of(source, _SECRET, WANTED)
    problem = _small(source)
    if problem is None:
        return unless([], "the smoke sizes leave no room, full ones do")
    found = [each for w in problem.workloads for each in _faults(problem, w)]
    return unless(found, f"smoke sizes {dict(problem.workloads[0].axes)}")


def _small(source: ProblemSource) -> spec.Problem | None:
    try:
        return held_out_of(source, _SECRET, 1, smoke=True)
    except InputError:
        return None


def _faults(problem: spec.Problem, workload: spec.Workload) -> list[str]:
    run = spec.load_reference(problem)
    result = run(*spec.make_inputs(problem, workload, 1).values())
    outputs = result if isinstance(result, tuple | list) else (result,)
    return [
        f"{name} is {tuple(output.shape)} for held-out sizes {dict(workload.axes)}"
        for name, output in zip(problem.definition.outputs, outputs, strict=True)
        if isinstance(output, torch.Tensor)
        and tuple(output.shape) != tuple(problem.output_shape(workload, name) or ())
    ]
