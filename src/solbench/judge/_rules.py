"""The rule by which outputs of a workload are judged: the public one, or our own error budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from solbench.gate import (
    ErrorBudget,
    GateResult,
    OutputError,
    budget_gate,
    official_gate_all,
    official_gate_calls,
    reference_gate_calls,
)
from solbench.spec import Problem, Tolerance, Workload

Outputs = Mapping[str, torch.Tensor]
Errors = Mapping[str, OutputError]
"""Output → error of the reference against float64."""


class Rule(Protocol):
    """How outputs are compared."""

    def sound(self, expected: Outputs) -> GateResult:
        """The reference against itself: it fails where it has NaN or Inf that no one may have."""

    def calls(
        self, outputs: Sequence[Outputs], expected: Sequence[Outputs], errors: Errors
    ) -> list[GateResult]:
        """Every element of every call against the reference at its declared precision."""

    def exactly(
        self, outputs: Outputs, expected: Outputs, truth: Outputs, errors: Errors
    ) -> GateResult:
        """One call, with the same in float64 at hand."""


@dataclass(frozen=True, slots=True)
class OfficialRule:
    """The public benchmark's; float64 plays no part in it."""

    tolerance: Tolerance

    def sound(self, expected: Outputs) -> GateResult:
        return official_gate_all(expected, expected, self.tolerance)

    def calls(
        self, outputs: Sequence[Outputs], expected: Sequence[Outputs], errors: Errors
    ) -> list[GateResult]:
        return official_gate_calls(outputs, expected, self.tolerance)

    def exactly(
        self, outputs: Outputs, expected: Outputs, truth: Outputs, errors: Errors
    ) -> GateResult:
        return official_gate_all(outputs, expected, self.tolerance)


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """Ours: an error budget of multiples of the reference's own error."""

    budget: ErrorBudget
    tolerance: Tolerance
    """Says only whether ``-inf`` may be there."""

    def sound(self, expected: Outputs) -> GateResult:
        return official_gate_all(expected, expected, self.tolerance)

    def calls(
        self, outputs: Sequence[Outputs], expected: Sequence[Outputs], errors: Errors
    ) -> list[GateResult]:
        gates = reference_gate_calls(outputs, expected, errors, self.budget)
        pairs = zip(gates, expected, strict=True)
        return [self._blamed(gate, right) for gate, right in pairs]

    def exactly(
        self, outputs: Outputs, expected: Outputs, truth: Outputs, errors: Errors
    ) -> GateResult:
        # Beside float64 too, the reference decides about whole numbers and about shapes.
        worst = GateResult("PASSED")
        for name, right in expected.items():
            known = errors.get(name)
            gate = budget_gate(outputs[name], right, truth[name], self.budget, name, known)
            if not gate.passed:
                return self._blamed(gate, expected)
            if gate.max_absolute_error >= worst.max_absolute_error:
                worst = gate
        return self._blamed(worst, expected)

    def either(
        self, outputs: Outputs, expected: Outputs, truth: Outputs, errors: Errors
    ) -> GateResult:
        """Beside float64 where there is any."""
        if truth:
            return self.exactly(outputs, expected, truth, errors)
        return self.calls([outputs], [expected], errors)[0]

    def _blamed(self, gate: GateResult, expected: Outputs) -> GateResult:
        """The reference's own NaN or Inf is the reference's fault, whatever the output has there."""
        if gate.passed and not (gate.has_nan or gate.has_inf):
            return gate
        itself = self.sound(expected)
        return gate if itself.passed else itself


def rule_of(problem: Problem, workload: Workload) -> Rule:
    """Our own problems say by which budget; all others follow the public rule."""
    own = problem.definition.solbench
    if own is None:
        return OfficialRule(workload.tolerance)
    budget = ErrorBudget(own.gate.rms_multiplier, own.gate.max_multiplier)
    return BudgetRule(budget, workload.tolerance)
