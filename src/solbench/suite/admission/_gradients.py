"""The gate of backward problems: their formulas against autograd of the forward, in float64."""

from __future__ import annotations

from typing import Any

import torch

from solbench import spec
from solbench.judge.admission import Float64Mode, run_float64
from solbench.suite._export import build
from solbench.suite._form import Gradient, Input
from solbench.suite._source import ProblemSource
from solbench.suite.admission._answer import Answer, unless

TOLERANCE = 1e-9
"""Of the largest gradient: float64 leaves about 1e-13 after thousands of roundings."""


def gradients_match_autograd(source: ProblemSource) -> Answer:
    """Every smoke workload: all gradients from saved tensors recomputed in float64."""
    gradient = source.problem.gradient
    if gradient is None:
        return unless(["a backward problem must declare its 'gradient'"])
    problem = build(source, smoke=True)
    problems: list[str] = []
    for workload in problem.workloads:
        problems += _differences(source, gradient, problem, workload)
    return unless(problems)


def _differences(
    source: ProblemSource, gradient: Gradient, problem: spec.Problem, workload: spec.Workload
) -> list[str]:
    run = spec.load_reference(problem)
    inputs = _in_float64(source, run, spec.make_inputs(problem, workload, 1))
    found = spec.normalise_outputs(problem, run_float64(run, inputs), workload)
    for name, output in zip(gradient.of, found.values(), strict=True):
        inputs.setdefault(name, torch.zeros_like(output))
    expected = _autograd(run, gradient, inputs)
    return [
        f"{name} differs from autograd by {_difference(output, truth):.3g}"
        for (name, output), truth in zip(found.items(), expected, strict=True)
        if not _difference(output, truth) <= TOLERANCE
    ]


def _in_float64(source: ProblemSource, run: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs, with those that a forward pass saved computed anew without rounding."""
    made = dict(inputs)
    for name, declared in source.problem.inputs.items():
        if isinstance(declared, Input) and declared.values.computed:
            drawn = declared.values
            function = run.__globals__[drawn.function]
            result = run_float64(function, {key: made[key] for key in drawn.inputs})
            made[name] = result if drawn.part is None else result[drawn.part]
    return made


def _autograd(run: Any, gradient: Gradient, inputs: dict[str, Any]) -> tuple[torch.Tensor, ...]:
    forward = run.__globals__[gradient.function]
    leaves = {name: _leaf(inputs[name], name in gradient.of) for name in gradient.inputs}
    upstream = [inputs[name].to(torch.float64) for name in gradient.upstream]
    wanted = [leaves[name] for name in gradient.of]
    with Float64Mode():  # type: ignore[no-untyped-call]
        returned = forward(*leaves.values())
        outputs = returned if isinstance(returned, tuple) else (returned,)
        return torch.autograd.grad(outputs[: len(upstream)], wanted, upstream)


def _leaf(value: Any, wanted: bool) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return value.to(torch.float64).requires_grad_(wanted)


def _difference(output: torch.Tensor, truth: torch.Tensor) -> float:
    scale = truth.abs().max().clamp_min(1e-30)
    return float((output.to(torch.float64) - truth).abs().max() / scale)
