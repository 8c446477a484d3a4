"""What a comparison needs and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

GateStatus = Literal["PASSED", "INCORRECT_SHAPE", "INCORRECT_DTYPE", "INCORRECT_NUMERICAL"]


class ToleranceLike(Protocol):
    """The numbers of the official rule (``solbench.spec.Tolerance`` has them)."""

    @property
    def max_atol(self) -> float: ...
    @property
    def max_rtol(self) -> float: ...
    @property
    def required_matched_ratio(self) -> float: ...
    @property
    def max_error_cap(self) -> float | None: ...
    @property
    def allow_negative_inf(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """How much worse than the reference at its declared precision a result may be."""

    rms_multiplier: float = 2.0
    max_multiplier: float = 4.0


@dataclass(frozen=True, slots=True)
class OutputError:
    """How far an output is from the same computation in float64; in the output's own unit."""

    rms: float = 0.0
    largest: float = 0.0
    truth_rms: float = 0.0
    """Of the float64 values themselves: one unit in the last place is a share of it."""
    truth_largest: float = 0.0

    def at_least(self, other: OutputError) -> OutputError:
        """The larger of the two, number by number."""
        return OutputError(
            max(self.rms, other.rms),
            max(self.largest, other.largest),
            max(self.truth_rms, other.truth_rms),
            max(self.truth_largest, other.truth_largest),
        )


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first element, in row-major order, that does not match."""

    index: tuple[int, ...]
    expected: float
    got: float


@dataclass(frozen=True, slots=True)
class GateResult:
    """The comparison of one output, or of the worst of several."""

    status: GateStatus
    reason: str = ""
    """Why it failed, in one sentence; empty when passed."""
    output: str = ""
    matched_ratio: float = 1.0
    max_absolute_error: float = 0.0
    """Over the elements that are finite on both sides."""
    max_relative_error: float = 0.0
    """``|o - r| / |r|`` over finite elements with ``r != 0``."""
    has_nan: bool = False
    """In the output or the reference."""
    has_inf: bool = False
    reference_is_finite: bool = True
    """False: no output can pass, the reference itself has NaN or Inf that the rule does not
    allow."""
    first: Mismatch | None = None

    @property
    def passed(self) -> bool:
        return self.status == "PASSED"

    @property
    def share_off(self) -> float:
        return 1.0 - self.matched_ratio
