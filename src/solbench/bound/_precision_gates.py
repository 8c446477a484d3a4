"""The two gates as the test of lower precision asks them: how far is an answer from its tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from solbench.bound._precision_part import share_within_rms, share_within_tolerance
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

    def share(
        self, outputs: Outputs, references: Outputs, oracle: Outputs, plain: Outputs
    ) -> float:
        """The largest share of the work behind ``outputs`` that may be done so if not all of it may.

        ``plain``: what a kernel gives that lowers nothing.
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

    def share(
        self, outputs: Outputs, references: Outputs, oracle: Outputs, plain: Outputs
    ) -> float:
        measured = [n for n, r in references.items() if _measurable(r)]
        matched = self.tolerance.required_matched_ratio
        shares = [
            share_within_tolerance(self._shares(outputs[n], references[n])[0], matched)
            for n in measured
        ]
        return min(shares, default=0.0)

    def _of(self, output: torch.Tensor, reference: torch.Tensor) -> float:
        """Error over tolerance of the last element that must match; also largest error over the cap."""
        if not _measurable(reference):
            return 0.0  # packed codes have no error of their own: the verdict alone counts
        shares, largest = self._shares(output.reshape(-1), reference.reshape(-1))
        last = max(1, math.ceil(self.tolerance.required_matched_ratio * shares.numel()))
        result = float(shares.nan_to_num(math.inf).kthvalue(last).values)
        cap = self.tolerance.max_error_cap
        return max(result, largest / cap) if cap else result

    def _shares(self, output: torch.Tensor, reference: torch.Tensor) -> tuple[torch.Tensor, float]:
        """Error over tolerance of every element, and the largest error."""
        right = reference.to(torch.float64)
        error = (output.to(torch.float64) - right).abs()
        allowed = self.tolerance.max_atol + self.tolerance.max_rtol * right.abs()
        shares = torch.where(error == 0, torch.zeros_like(error), error / allowed)
        return shares, float(error.max())


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
        most = max(self.budget.max_multiplier * float(own.max()), step * float(truth.abs().max()))
        rms = self._rms_limit(reference, truth)
        return max(_ratio(_rms(error), rms), _ratio(float(error.max()), most))

    def share(
        self, outputs: Outputs, references: Outputs, oracle: Outputs, plain: Outputs
    ) -> float:
        """By the root mean square alone: which elements are off most a kernel may compute exactly."""
        floats = [n for n, r in references.items() if r.dtype.is_floating_point and r.numel()]
        if any(not torch.equal(outputs[n], references[n]) for n in references if n not in floats):
            return 0.0
        shares = []
        for name in floats:
            limit = self._rms_limit(references[name], oracle[name].to(torch.float64))
            shares.append(share_within_rms(outputs[name], plain[name], oracle[name], limit))
        return min(shares, default=0.0)

    def _rms_limit(self, reference: torch.Tensor, truth: torch.Tensor) -> float:
        own = _rms(reference.to(torch.float64) - truth)
        step = torch.finfo(reference.dtype).eps
        return max(self.budget.rms_multiplier * own, step * _rms(truth))


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


def _measurable(reference: torch.Tensor) -> bool:
    return reference.numel() > 0 and "float4" not in str(reference.dtype)


def _rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())


def _ratio(error: float, limit: float) -> float:
    return error / limit if limit else (0.0 if error == 0 else math.inf)
