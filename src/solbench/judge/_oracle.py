"""Inputs and expected outputs of one workload. Lives in the judge, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from solbench.gate import GateResult, official_gate_all, official_gate_calls
from solbench.judge._layouts import ArgumentValue
from solbench.spec import (
    Problem,
    Workload,
    contained,
    load_reference,
    make_inputs,
    normalise_outputs,
    reference_failure,
)


class Oracle:
    """Runs the reference on fresh inputs."""

    def __init__(self, problem: Problem, workload: Workload, device: str) -> None:
        self.problem = problem
        self.workload = workload
        self._device = device
        self._run: Callable[..., Any] = load_reference(problem)
        self.seconds: list[float] = []
        """Time of each run of the reference, in this process; not a measurement."""
        self._scalars: dict[str, ArgumentValue] | None = None
        self.held_scalars: dict[str, ArgumentValue] = {}
        """Scalars that the entrypoint chose anew, and the first value, which all calls get."""

    def inputs(self, seed: int) -> dict[str, ArgumentValue]:
        """The arguments of one call, in order. A worker is told scalars once, so they keep the values
        that they have first."""
        made = make_inputs(self.problem, self.workload, seed, self._device)
        scalars: dict[str, ArgumentValue] = {
            name: value for name, value in made.items() if not isinstance(value, torch.Tensor)
        }
        first = self._scalars = scalars if self._scalars is None else self._scalars
        self.held_scalars |= {
            name: first[name] for name in first if repr(scalars[name]) != repr(first[name])
        }
        return made | first

    def expected(self, inputs: Mapping[str, ArgumentValue]) -> dict[str, torch.Tensor]:
        """What the reference makes of them; it may write into them. Raises ``ReferenceFailed``."""
        start = time.perf_counter()
        try:
            with contained():
                returned = self._run(*inputs.values())
        except (Exception, SystemExit) as error:  # the reference is the problem's code, not ours
            raise reference_failure(self.problem, error) from error
        outputs = normalise_outputs(self.problem, returned, self.workload)
        self.seconds.append(time.perf_counter() - start)
        # Contiguous clones: an output may be a view of an input, or of another output.
        return {name: value.detach().contiguous().clone() for name, value in outputs.items()}

    def admit(self, expected: Mapping[str, torch.Tensor]) -> GateResult:
        """The reference against itself: it fails where its outputs hold NaN or Inf that no one may
        have."""
        return official_gate_all(expected, expected, self.workload.tolerance)

    def compare(
        self,
        outputs: Sequence[Mapping[str, torch.Tensor]],
        expected: Sequence[Mapping[str, torch.Tensor]],
    ) -> list[GateResult]:
        """The official rule over all outputs of each call."""
        return official_gate_calls(outputs, expected, self.workload.tolerance)
