"""Our own problems' rule: an error budget, measured against the same computation in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from solbench.gate._form import (
    CHUNK_ELEMENTS,
    as_float32,
    can_be_joined,
    compare_form,
    groups_to_join,
    unravel,
)
from solbench.gate._official import worst_of
from solbench.gate._types import ErrorBudget, GateResult, Mismatch, OutputError

_EPS_OF_FLOAT4 = 0.5
"""E2M1 has one bit of mantissa; ``torch.finfo`` does not know it."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """What an output may be off by."""

    rms: float
    largest: float


def measure_error(output: torch.Tensor, truth: torch.Tensor) -> OutputError:
    """How far an output is from float64, over the elements that are finite in both.

    Whole numbers have an error of zero: they are compared exactly, never within a budget.
    """
    if not output.dtype.is_floating_point:
        return OutputError()
    spread, size = _Spread(), _Spread()
    for start, got, right in _chunks(output, truth):
        _count(spread, start, got, right, math.inf)
        _count(size, start, right, torch.zeros_like(right), math.inf)
    return OutputError(spread.rms, spread.largest, size.rms, size.largest)


def budget_gate(
    output: torch.Tensor,
    reference: torch.Tensor,
    oracle: torch.Tensor,
    budget: ErrorBudget | None = None,
    name: str = "output",
    known: OutputError | None = None,
) -> GateResult:
    """Our own problems' rule for one output, against float64.

    ``reference`` is the reference at declared precision, ``oracle`` the same in float64. The root
    mean square error against the oracle may be at most ``rms_multiplier`` times the reference's,
    the largest ``max_multiplier`` times; a reference that is exact still leaves one unit in the
    last place of the output type. Integers and bools must be equal. NaN and Inf only where the
    oracle has the same. ``known``: the reference's error on other inputs, which counts where it is
    larger: few elements may be exact by luck.
    """
    decided = _without_errors(output, reference, name)
    if decided is not None:
        return decided
    error = measure_error(reference, oracle)
    error = error if known is None else error.at_least(known)
    limits = _limits(error, budget or ErrorBudget(), reference.dtype)
    return _within(output, oracle, limits, name, "what the oracle does not have")


def reference_gate(
    output: torch.Tensor,
    reference: torch.Tensor,
    error: OutputError,
    budget: ErrorBudget | None = None,
    name: str = "output",
) -> GateResult:
    """Our own problems' rule for one output where there is no float64 to compare with.

    ``error`` is the reference's own. An output within the budget of :func:`budget_gate` is, by the
    triangle inequality, no further from the reference than its budget and that error together.
    """
    decided = _without_errors(output, reference, name)
    if decided is not None:
        return decided
    limits = _beside_reference(error, budget or ErrorBudget(), reference.dtype)
    return _within(output, reference, limits, name, "what the reference does not have")


def _without_errors(output: torch.Tensor, reference: torch.Tensor, name: str) -> GateResult | None:
    """The verdict where no error counts: another form, or whole numbers. ``None`` for values to be measured."""
    form = compare_form(output, reference, name)
    if form is not None:
        return form
    if not reference.dtype.is_floating_point:
        return _exact(output, reference, name)
    return None


def reference_gate_calls(
    outputs: Sequence[Mapping[str, torch.Tensor]],
    references: Sequence[Mapping[str, torch.Tensor]],
    errors: Mapping[str, OutputError],
    budget: ErrorBudget,
) -> list[GateResult]:
    """:func:`reference_gate` over all outputs of each of several calls; the first output that fails
    decides.

    Small outputs on a GPU are looked at together, since each number that is read synchronises.
    """
    plain: list[GateResult | None] = []
    for start, stop in groups_to_join(references):
        plain += _plainly_within(outputs[start:stop], references[start:stop], errors, budget)
    return [
        known or _all_within(mine, right, errors, budget)
        for known, mine, right in zip(plain, outputs, references, strict=True)
    ]


def _all_within(
    outputs: Mapping[str, torch.Tensor],
    references: Mapping[str, torch.Tensor],
    errors: Mapping[str, OutputError],
    budget: ErrorBudget,
) -> GateResult:
    worst = GateResult("PASSED")
    for name, reference in references.items():
        result = reference_gate(outputs[name], reference, errors[name], budget, name)
        if not result.passed:
            return result
        worst = worst_of(worst, result)
    return worst


def _plainly_within(
    outputs: Sequence[Mapping[str, torch.Tensor]],
    references: Sequence[Mapping[str, torch.Tensor]],
    errors: Mapping[str, OutputError],
    budget: ErrorBudget,
) -> list[GateResult | None]:
    """The result of each call of float outputs in which nothing is off, from one synchronisation."""
    unknown: list[GateResult | None] = [None] * len(references)
    if not can_be_joined(outputs, references):
        return unknown
    names = list(references[0])
    numbers = [
        _joined_numbers(
            torch.stack([call[name].reshape(-1) for call in outputs]),
            torch.stack([call[name].reshape(-1) for call in references]),
        )
        for name in names
    ]
    limits = [_beside_reference(errors[n], budget, references[0][n].dtype) for n in names]
    rows = torch.stack(numbers).transpose(0, 1).tolist()
    return [_plain_result(row, limits) for row in rows]


def _joined_numbers(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """float64 [calls, 3]: root mean square of the difference, its largest, and the largest relative one."""
    right = expected.to(torch.float64)
    difference = (got.to(torch.float64) - right).abs_()
    rms, largest = difference.square().mean(1).sqrt(), difference.amax(1)
    magnitude = right.abs_()
    relative = difference.div_(magnitude.masked_fill_(magnitude == 0, math.inf)).amax(1)
    return torch.stack((rms, largest, relative), dim=1)


def _plain_result(row: Sequence[Sequence[float]], limits: Sequence[_Limits]) -> GateResult | None:
    """``None`` where anything is off or not finite: that call is judged by itself."""
    for (rms, largest, _), limit in zip(row, limits, strict=True):
        if not (rms <= limit.rms and largest <= limit.largest):
            return None
    return GateResult(
        "PASSED",
        max_absolute_error=max(largest for _, largest, _ in row),
        max_relative_error=max(relative for _, _, relative in row),
    )


def _limits(error: OutputError, budget: ErrorBudget, dtype: torch.dtype) -> _Limits:
    unit = ulp(dtype)
    return _Limits(
        rms=max(budget.rms_multiplier * error.rms, unit * error.truth_rms),
        largest=max(budget.max_multiplier * error.largest, unit * error.truth_largest),
    )


def within_largest(error: OutputError, budget: ErrorBudget, dtype: torch.dtype) -> float:
    """What an element may differ from the reference's by; nothing for whole numbers."""
    return _beside_reference(error, budget, dtype).largest if dtype.is_floating_point else 1.0


def _beside_reference(error: OutputError, budget: ErrorBudget, dtype: torch.dtype) -> _Limits:
    limits = _limits(error, budget, dtype)
    return _Limits(limits.rms + error.rms, limits.largest + error.largest)


def ulp(dtype: torch.dtype) -> float:
    """One unit in the last place, as a share of a value."""
    return _EPS_OF_FLOAT4 if "float4" in str(dtype) else torch.finfo(dtype).eps


@dataclass(slots=True)
class _Spread:
    """Differences of one output, counted chunk by chunk."""

    elements: int = 0
    squares: float = 0.0
    largest: float = 0.0
    largest_relative: float = 0.0
    off: int = 0
    illegal: bool = False
    has_nan: bool = False
    has_inf: bool = False
    first: tuple[int, float, float] | None = None
    worst: tuple[int, float, float] = (0, 0.0, 0.0)

    @property
    def rms(self) -> float:
        return math.sqrt(self.squares / self.elements) if self.elements else 0.0


def _chunks(
    output: torch.Tensor, right: torch.Tensor
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Pairs of flat float64 pieces with the index of their first stored element."""
    flat_output, flat_right = output.reshape(-1), right.reshape(-1)
    size = CHUNK_ELEMENTS.get(output.device.type, CHUNK_ELEMENTS["cpu"])
    for start in range(0, flat_output.numel(), size):
        piece = slice(start, start + size)
        yield start, _as_float64(flat_output[piece]), _as_float64(flat_right[piece])


def _as_float64(piece: torch.Tensor) -> torch.Tensor:
    packed = "float4" in str(piece.dtype)
    return (as_float32(piece) if packed else piece).to(torch.float64)


def _count(
    spread: _Spread, start: int, got: torch.Tensor, right: torch.Tensor, limit: float
) -> None:
    difference = (got - right).abs_()
    illegal = None
    if not math.isfinite(float(difference.max())):
        illegal = _not_finite(spread, got, right)
        difference = torch.where(torch.isfinite(difference), difference, 0.0)
    magnitude = right.abs()
    relative = difference / magnitude.masked_fill_(magnitude == 0, math.inf)
    off = difference > limit if illegal is None else (difference > limit) | illegal
    numbers = torch.stack(
        (difference.square().sum(), difference.amax(), relative.nan_to_num_(0.0).amax(), off.sum())
    )
    squares, largest, largest_relative, count = numbers.tolist()
    if largest >= spread.largest:
        spread.worst = _place(start, int(difference.argmax()), got, right)
    if count and spread.first is None:
        spread.first = _place(start, int(off.to(torch.uint8).argmax()), got, right)
    spread.elements += difference.numel()
    spread.squares += squares
    spread.largest = max(spread.largest, largest)
    spread.largest_relative = max(spread.largest_relative, largest_relative)
    spread.off += int(count)


def _place(start: int, at: int, got: torch.Tensor, right: torch.Tensor) -> tuple[int, float, float]:
    return start + at, float(right[at]), float(got[at])


def _not_finite(spread: _Spread, got: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Where one side has a NaN or an Inf that the other does not have."""
    same = (got == right) | (torch.isnan(got) & torch.isnan(right))
    illegal = ~same & ~(torch.isfinite(got) & torch.isfinite(right))
    spread.illegal |= bool(illegal.any())
    spread.has_nan |= bool(torch.isnan(got).any())
    spread.has_inf |= bool(torch.isinf(got).any())
    return illegal


def _within(
    output: torch.Tensor, right: torch.Tensor, limits: _Limits, name: str, foreign: str
) -> GateResult:
    spread = _Spread()
    for start, got, expected in _chunks(output, right):
        _count(spread, start, got, expected, limits.largest)
    reason = _reason(spread, limits, name, foreign)
    first = spread.first or spread.worst
    return GateResult(
        status="INCORRECT_NUMERICAL" if reason else "PASSED",
        reason=reason,
        output=name,
        matched_ratio=1.0 - spread.off / spread.elements if spread.elements else 1.0,
        max_absolute_error=spread.largest,
        max_relative_error=spread.largest_relative,
        has_nan=spread.has_nan,
        has_inf=spread.has_inf,
        first=_mismatch(output, spread.elements, first) if reason else None,
    )


def _mismatch(output: torch.Tensor, elements: int, place: tuple[int, float, float]) -> Mismatch:
    flat, expected, got = place
    return Mismatch(unravel(flat, tuple(output.shape), elements), expected, got)


def _reason(spread: _Spread, limits: _Limits, name: str, foreign: str) -> str:
    if spread.illegal:
        return f"{name}: NaN or Inf, {foreign}"
    if spread.rms > limits.rms:
        return f"{name}: RMS error {spread.rms:.6g} is above its budget {limits.rms:.6g}"
    if spread.largest > limits.largest:
        return (
            f"{name}: largest error {spread.largest:.6g} is above its budget {limits.largest:.6g}"
        )
    return ""


def _exact(output: torch.Tensor, reference: torch.Tensor, name: str) -> GateResult:
    """Whole numbers and bools: in their own type, since float32 holds them only up to 2^24."""
    off = (output != reference).reshape(-1)
    count = int(off.sum())
    passed = GateResult("PASSED", output=name)
    if not count:
        return passed
    at = int(off.to(torch.uint8).argmax())
    got, right = (each.reshape(-1).to(torch.float64) for each in (output, reference))
    difference = (got - right).abs()
    return replace(
        passed,
        status="INCORRECT_NUMERICAL",
        reason=f"{name}: {count} of {off.numel()} whole numbers are not equal",
        matched_ratio=1.0 - count / off.numel(),
        max_absolute_error=float(difference.max()),
        max_relative_error=float((difference / right.abs()).nan_to_num_(0.0, 0.0, 0.0).max()),
        first=_mismatch(output, off.numel(), _place(0, at, got, right)),
    )
