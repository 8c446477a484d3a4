"""The two gates as the test of lower precision asks them: how far is an answer from its tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from solbench.bound._precision_result import GateName
from solbench.gate import ErrorBudget, budget_gate, official_gate_all
from solbench.spec import Problem, Tolerance, Workload

Outputs = Mapping[str, torch.Tensor]


class Gate(Protocol):
    """Judges one candidate."""

    @property
    def name(self) -> GateName: ...

    @property
    def against_float64(self) -> bool:
        """Whether the truth is the program in float64, so that a kernel may gain from exact intermediates."""

    def excess(self, outputs: Outputs, references: Outputs, oracle: Outputs) -> float:
        """Error over tolerance of the worst output: at most 1 if the gate passes, above 1 if it does not.

        ``references``: the program as declared; ``oracle``: in float64.
        """


@dataclass(frozen=True, slots=True)
class OfficialGate:
    """The public rule, with a workload's tolerance."""

    tolerance: Tolerance
    name: GateName = "official"
    against_float64: bool = False

    def excess(self, outputs: Outputs, references: Outputs, oracle: Outputs) -> float:
        passed = official_gate_all(outputs, references, self.tolerance).passed
        worst = max((self._of(outputs[n], references[n]) for n in references), default=0.0)
        return _agreeing(worst, passed)

    def _of(self, output: torch.Tensor, reference: torch.Tensor) -> float:
        """Error over tolerance of the last element that must match; also largest error over the cap."""
        if reference.numel() == 0 or "float4" in str(reference.dtype):
            return 0.0  # packed codes have no error of their own: the verdict alone counts
        right = reference.reshape(-1).to(torch.float64)
        error = (output.reshape(-1).to(torch.float64) - right).abs()
        allowed = self.tolerance.max_atol + self.tolerance.max_rtol * right.abs()
        shares = torch.where(error == 0, torch.zeros_like(error), error / allowed)
        last = max(1, math.ceil(self.tolerance.required_matched_ratio * shares.numel()))
        result = float(shares.nan_to_num(math.inf).kthvalue(last).values)
        cap = self.tolerance.max_error_cap
        return max(result, float(error.max()) / cap) if cap else result


@dataclass(frozen=True, slots=True)
class BudgetGate:
    """Our own rule: error against float64 as a multiple of the reference's own."""

    budget: ErrorBudget
    name: GateName = "budget"
    against_float64: bool = True

    def excess(self, outputs: Outputs, references: Outputs, oracle: Outputs) -> float:
        results = [
            budget_gate(outputs[n], references[n], oracle[n], self.budget, n) for n in references
        ]
        worst = max(
            (self._of(outputs[n], references[n], oracle[n]) for n in references), default=0.0
        )
        return _agreeing(worst, all(r.passed for r in results))

    def _of(self, output: torch.Tensor, reference: torch.Tensor, oracle: torch.Tensor) -> float:
        if not reference.dtype.is_floating_point or reference.numel() == 0:
            return 0.0 if torch.equal(output, reference) else math.inf
        truth = oracle.to(torch.float64)
        error = (output.to(torch.float64) - truth).abs()
        own = (reference.to(torch.float64) - truth).abs()
        step = torch.finfo(reference.dtype).eps
        rms = max(self.budget.rms_multiplier * _rms(own), step * _rms(truth))
        most = max(self.budget.max_multiplier * float(own.max()), step * float(truth.abs().max()))
        return max(_ratio(_rms(error), rms), _ratio(float(error.max()), most))


def gate_of(problem: Problem, workload: Workload) -> Gate:
    """Our own problems are judged by their error budget, all others by the official rule."""
    own = problem.definition.solbench
    if own is None:
        return OfficialGate(workload.tolerance)
    return BudgetGate(ErrorBudget(own.gate.rms_multiplier, own.gate.max_multiplier))


def _agreeing(excess: float, passed: bool) -> float:
    """The number on the side of 1 that the verdict is on."""
    if math.isnan(excess):
        excess = math.inf
    return min(excess, 1.0) if passed else max(excess, math.nextafter(1.0, 2.0))


def _rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())


def _ratio(error: float, limit: float) -> float:
    return error / limit if limit else (0.0 if error == 0 else math.inf)
