"""The precision audit: a candidate's error beside the reference's, and beside that of a lower precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from solbench.gate import OutputError, measure_error

_CLEARLY_WORSE = 2.0
"""Times the reference's error: below it, nothing is said about precision."""


@dataclass(slots=True)
class PrecisionAudit:
    """Errors against float64 over the audited calls."""

    candidate: dict[str, OutputError] = field(default_factory=dict)
    reference: dict[str, OutputError] = field(default_factory=dict)
    ulps: dict[str, float] = field(default_factory=dict)
    """Unit in the last place of each output's type, as a share."""
    calls: int = 0

    def add(
        self,
        outputs: Mapping[str, torch.Tensor],
        expected: Mapping[str, torch.Tensor],
        truth: Mapping[str, torch.Tensor],
    ) -> None:
        """Take in one call."""
        self.calls += 1
        for name, right in truth.items():
            for errors, tensor in (
                (self.candidate, outputs[name]),
                (self.reference, expected[name]),
            ):
                error = measure_error(tensor, right)
                errors[name] = error.at_least(errors.get(name, error))
            self.ulps[name] = _ulp(expected[name].dtype)

    def merge(self, other: PrecisionAudit) -> None:
        """Take in what was found in other calls."""
        self.calls += other.calls
        self.ulps |= other.ulps
        for mine, others in ((self.candidate, other.candidate), (self.reference, other.reference)):
            for name, error in others.items():
                mine[name] = error.at_least(mine.get(name, error))

    def downgrade(self, lower: Mapping[str, OutputError]) -> str:
        """Evidence of a lower precision than declared, in words; empty if there is none.

        Known is the reference's error, and its error with all inputs rounded to the next lower
        precision. A candidate is nearer to the latter if its error is above their geometric mean.
        """
        for name, mine in self.candidate.items():
            reduced = lower.get(name)
            if reduced is None:
                continue
            declared = max(self.reference[name].rms, self.ulps[name] * mine.truth_rms)
            between = math.sqrt(declared * reduced.rms)
            if mine.rms > max(_CLEARLY_WORSE * declared, between) and reduced.rms > declared:
                return (
                    f"{name}: RMS error {mine.rms:.3g}, that of the reference {declared:.3g}, with inputs "
                    f"of the next lower precision {reduced.rms:.3g}"
                )
        return ""

    def record(self, lower: Mapping[str, OutputError]) -> dict[str, Any] | None:
        """For the trace; ``None`` if no call was audited."""
        if not self.calls:
            return None
        return {
            "calls": self.calls,
            "outputs": {
                name: {
                    "rms_error": mine.rms,
                    "largest_error": mine.largest,
                    "reference_rms_error": self.reference[name].rms,
                    "reference_largest_error": self.reference[name].largest,
                    "rms_ratio": _ratio(mine.rms, self.reference[name].rms),
                    "largest_ratio": _ratio(mine.largest, self.reference[name].largest),
                    "lower_precision_rms_error": lower[name].rms if name in lower else None,
                }
                for name, mine in self.candidate.items()
            },
        }


def _ratio(mine: float, others: float) -> float | None:
    """``None`` where the reference is exact."""
    return mine / others if others > 0 else None


def _ulp(dtype: torch.dtype) -> float:
    """0 for whole numbers, which have no error, and for packed four-bit floats."""
    known = dtype.is_floating_point and "float4" not in str(dtype)
    return torch.finfo(dtype).eps if known else 0.0
