"""When an output counts as right. Pure functions of tensors; nothing here knows about processes or
clocks.

Two rules: :func:`official_gate` is the rule of the public benchmark, element by element with one
tolerance; :func:`budget_gate` is ours, an error budget measured against a float64 oracle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import torch

GateStatus = Literal["PASSED", "INCORRECT_SHAPE", "INCORRECT_DTYPE", "INCORRECT_NUMERICAL"]

CHUNK_ELEMENTS = {"cpu": 1 << 15, "cuda": 1 << 24}
"""Elements compared at a time. CPU: a chunk and its temporaries stay in the second-level cache, and
no threads are woken. CUDA: 64 MiB a temporary, so that launches do not count."""

# Magnitudes of the eight float4_e2m1 codes; bit 3 is the sign.
_FLOAT4_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


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


def official_gate(
    output: torch.Tensor, reference: torch.Tensor, tolerance: ToleranceLike, name: str = "output"
) -> GateResult:
    """The public benchmark's rule for one output.

    Shape and dtype first, strictly. Then, both cast to float32: any NaN or Inf on either side fails
    (a ``-inf`` on both sides is allowed where the tolerance says so); all zeros against a reference
    that is not fails; an element matches if ``|o - r| <= atol + rtol * |r|``, and the matched share
    and the error cap must hold.
    """
    form = _compare_form(output, reference, name)
    if form is not None:
        return form
    tally = _Tally()
    for start, got, expected in _chunks(output, reference):
        _count_chunk(tally, start, got, expected, tolerance)
    return _verdict(tally, tuple(reference.shape), tolerance, name)


def official_gate_all(
    outputs: Mapping[str, torch.Tensor],
    references: Mapping[str, torch.Tensor],
    tolerance: ToleranceLike,
) -> GateResult:
    """Every output against its reference, one tolerance for all; the first that fails, else the
    worst errors."""
    worst = GateResult("PASSED")
    for name, reference in references.items():
        result = official_gate(outputs[name], reference, tolerance, name)
        if not result.passed:
            return result
        worst = _worst_of(worst, result)
    return worst


def _worst_of(worst: GateResult, result: GateResult) -> GateResult:
    """Two results that passed, as one."""
    return replace(
        worst,
        matched_ratio=min(worst.matched_ratio, result.matched_ratio),
        max_absolute_error=max(worst.max_absolute_error, result.max_absolute_error),
        max_relative_error=max(worst.max_relative_error, result.max_relative_error),
        has_inf=worst.has_inf or result.has_inf,
    )


def official_gate_calls(
    outputs: Sequence[Mapping[str, torch.Tensor]],
    references: Sequence[Mapping[str, torch.Tensor]],
    tolerance: ToleranceLike,
) -> list[GateResult]:
    """:func:`official_gate_all` for each of several calls of one form.

    On a GPU every number that is read costs a synchronisation, so small outputs of all calls are
    judged together; a call that does not plainly pass is then looked at by itself.
    """
    together = list[GateResult | None]([None] * len(references))
    if _can_be_joined(outputs, references):
        together = _judge_together(outputs, references, tolerance)
    return [
        known or official_gate_all(mine, right, tolerance)
        for known, mine, right in zip(together, outputs, references, strict=True)
    ]


def budget_gate(
    output: torch.Tensor,
    reference: torch.Tensor,
    oracle: torch.Tensor,
    budget: ErrorBudget | None = None,
    name: str = "output",
) -> GateResult:
    """Our own problems' rule for one output.

    ``reference`` is the reference at declared precision, ``oracle`` the same in float64. The root
    mean square error against the oracle may be at most ``rms_multiplier`` times the reference's,
    the largest ``max_multiplier`` times; a reference that is exact still leaves one unit in the
    last place of the output type. Integers and bools must be equal. NaN and Inf only where the
    oracle has the same.
    """
    budget = budget or ErrorBudget()
    form = _compare_form(output, reference, name)
    if form is not None:
        return form
    if not reference.dtype.is_floating_point:
        return official_gate(output, reference, _EXACT, name)
    return _within_budget(output, reference, oracle, budget, name)


def _can_be_joined(
    outputs: Sequence[Mapping[str, torch.Tensor]], references: Sequence[Mapping[str, torch.Tensor]]
) -> bool:
    if len(references) < 2:
        return False
    return all(
        reference.is_cuda
        and 0 < reference.numel() <= CHUNK_ELEMENTS["cuda"] // len(references)
        and reference.dtype.is_floating_point
        and "float4" not in str(reference.dtype)
        and _compare_form(mine[name], reference, name) is None
        for mine, right in zip(outputs, references, strict=True)
        for name, reference in right.items()
    )


def _judge_together(
    outputs: Sequence[Mapping[str, torch.Tensor]],
    references: Sequence[Mapping[str, torch.Tensor]],
    tolerance: ToleranceLike,
) -> list[GateResult | None]:
    """The result of every call that plainly passes, from one synchronisation; ``None`` for others."""
    names = list(references[0])
    numbers = torch.stack(
        [
            _call_numbers(
                torch.stack([call[name].reshape(-1) for call in outputs]).to(torch.float32),
                torch.stack([call[name].reshape(-1) for call in references]).to(torch.float32),
                tolerance,
            )
            for name in names
        ]
    )
    return [
        _plain_pass(names, [_CallNumbers(*row) for row in rows], references[number], tolerance)
        for number, rows in enumerate(numbers.transpose(0, 1).tolist())
    ]


class _CallNumbers(NamedTuple):
    """What decides about one output of one call."""

    matched: float
    largest: float
    """Largest absolute error; NaN or Inf if anything is."""
    largest_relative: float
    output_is_zero: float
    reference_is_zero: float


def _call_numbers(
    got: torch.Tensor, expected: torch.Tensor, tolerance: ToleranceLike
) -> torch.Tensor:
    """float64 [calls, 5] in the order of ``_CallNumbers``, from float32 [calls, elements]."""
    magnitude = expected.abs()
    difference = (got - expected).abs_()
    matches = difference <= (magnitude * tolerance.max_rtol).add_(tolerance.max_atol)
    largest = difference.amax(1)
    relative = difference.div_(magnitude.masked_fill(magnitude == 0, math.inf)).amax(1)
    zeros = [(each == 0).all(1) for each in (got, expected)]
    columns = (matches.sum(1), largest, relative, *zeros)
    return torch.stack([column.to(torch.float64) for column in columns], dim=1)


def _plain_pass(
    names: Sequence[str],
    numbers: Sequence[_CallNumbers],
    references: Mapping[str, torch.Tensor],
    tolerance: ToleranceLike,
) -> GateResult | None:
    """``None`` where anything is off or not finite: that call is judged by itself."""
    worst = GateResult("PASSED")
    for name, seen in zip(names, numbers, strict=True):
        if not math.isfinite(seen.largest):
            return None
        elements = references[name].numel()
        tally = _Tally(
            elements=elements,
            matched=int(seen.matched),
            max_absolute=seen.largest,
            max_relative=seen.largest_relative,
            output_is_zero=bool(seen.output_is_zero),
            reference_is_zero=bool(seen.reference_is_zero),
        )
        result = _verdict(tally, tuple(references[name].shape), tolerance, name)
        if not result.passed:
            return None
        worst = _worst_of(worst, result)
    return worst


@dataclass(frozen=True, slots=True)
class _Exact:
    max_atol: float = 0.0
    max_rtol: float = 0.0
    required_matched_ratio: float = 1.0
    max_error_cap: float | None = None
    allow_negative_inf: bool = False


_EXACT = _Exact()


@dataclass(slots=True)
class _Tally:
    """What is counted over the chunks of one output."""

    elements: int = 0
    matched: int = 0
    max_absolute: float = 0.0
    max_relative: float = 0.0
    has_nan: bool = False
    has_inf: bool = False
    forbidden: bool = False
    reference_is_finite: bool = True
    output_is_zero: bool = True
    reference_is_zero: bool = True
    first: tuple[int, float, float] | None = None


def _compare_form(output: torch.Tensor, reference: torch.Tensor, name: str) -> GateResult | None:
    if output.shape != reference.shape:
        expected, got = list(reference.shape), list(output.shape)
        reason = f"{name} has shape {got}, the reference {expected}"
        return GateResult("INCORRECT_SHAPE", reason, name, matched_ratio=0.0)
    if output.dtype != reference.dtype:
        reason = f"{name} has dtype {output.dtype}, the reference {reference.dtype}"
        return GateResult("INCORRECT_DTYPE", reason, name, matched_ratio=0.0)
    return None


def _chunks(
    output: torch.Tensor, reference: torch.Tensor
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Pairs of flat float32 pieces with the index of their first element."""
    flat_output, flat_reference = output.reshape(-1), reference.reshape(-1)
    size = CHUNK_ELEMENTS.get(reference.device.type, CHUNK_ELEMENTS["cpu"])
    for start in range(0, flat_reference.numel(), size):
        piece = slice(start, start + size)
        yield start, _as_float32(flat_output[piece]), _as_float32(flat_reference[piece])


def _as_float32(piece: torch.Tensor) -> torch.Tensor:
    if str(piece.dtype) != "torch.float4_e2m1fn_x2":
        return piece.to(torch.float32)
    codes = piece.contiguous().view(torch.uint8)
    table = torch.tensor(_FLOAT4_MAGNITUDES, dtype=torch.float32, device=piece.device)
    table = torch.cat([table, -table])
    return torch.stack([table[(codes & 15).long()], table[(codes >> 4).long()]], dim=-1).reshape(-1)


def _count_chunk(
    tally: _Tally,
    start: int,
    got: torch.Tensor,
    expected: torch.Tensor,
    tolerance: ToleranceLike,
) -> None:
    magnitude = expected.abs()
    difference = (got - expected).abs_()
    matches = difference <= (magnitude * tolerance.max_rtol).add_(tolerance.max_atol)
    largest = float(difference.max())
    # NaN and Inf on either side end up in the largest difference: no mask is needed on the usual
    # path.
    if not math.isfinite(largest):
        difference, matches = _count_not_finite(
            tally, got, expected, difference, matches, tolerance
        )
        largest = float(difference.max())
    matched = int(torch.count_nonzero(matches))
    tally.elements += matches.numel()
    tally.matched += matched
    tally.max_absolute = max(tally.max_absolute, largest)
    tally.max_relative = max(tally.max_relative, _largest_relative(difference, magnitude))
    tally.output_is_zero = tally.output_is_zero and not bool(got.any())
    tally.reference_is_zero = tally.reference_is_zero and not bool(expected.any())
    if tally.first is None and matched < matches.numel():
        at = int((~matches).to(torch.uint8).argmax())
        tally.first = (start + at, float(expected[at]), float(got[at]))


def _largest_relative(difference: torch.Tensor, magnitude: torch.Tensor) -> float:
    """Over elements whose reference is finite and not zero. ``difference`` is used up."""
    least, most = torch.aminmax(magnitude)
    if not (float(least) > 0 and math.isfinite(float(most))):
        unusable = (magnitude == 0) | ~torch.isfinite(magnitude)
        magnitude = magnitude.masked_fill(unusable, math.inf)
    return float(difference.div_(magnitude).max())


def _count_not_finite(
    tally: _Tally,
    got: torch.Tensor,
    expected: torch.Tensor,
    difference: torch.Tensor,
    matches: torch.Tensor,
    tolerance: ToleranceLike,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The differences with non-finite places zeroed, and the matches with forbidden places off."""
    allowed = torch.zeros_like(matches)
    if tolerance.allow_negative_inf:
        allowed = torch.isneginf(got) & torch.isneginf(expected)
    bad_output = ~torch.isfinite(got) & ~allowed
    bad_reference = ~torch.isfinite(expected) & ~allowed
    tally.has_nan |= bool(torch.isnan(got).any()) or bool(torch.isnan(expected).any())
    tally.has_inf |= bool(torch.isinf(got).any()) or bool(torch.isinf(expected).any())
    tally.forbidden |= bool((bad_output | bad_reference).any())
    # A -inf that only the output lacks is the output's fault, not the reference's.
    lawful = torch.isneginf(expected) if tolerance.allow_negative_inf else allowed
    tally.reference_is_finite &= not bool((~torch.isfinite(expected) & ~lawful).any())
    finite = torch.isfinite(got) & torch.isfinite(expected)
    return difference.masked_fill(~finite, 0.0), (matches & finite) | allowed


def _verdict(
    tally: _Tally, shape: tuple[int, ...], tolerance: ToleranceLike, name: str
) -> GateResult:
    ratio = tally.matched / tally.elements if tally.elements else 1.0
    reason = _failure_reason(tally, ratio, tolerance, name)
    first = None
    if reason and tally.first is not None:
        flat, expected, got = tally.first
        first = Mismatch(_unravel(flat, shape, tally.elements), expected, got)
    return GateResult(
        status="INCORRECT_NUMERICAL" if reason else "PASSED",
        reason=reason,
        output=name,
        matched_ratio=ratio,
        max_absolute_error=tally.max_absolute,
        max_relative_error=tally.max_relative,
        has_nan=tally.has_nan,
        has_inf=tally.has_inf,
        reference_is_finite=tally.reference_is_finite,
        first=first,
    )


def _failure_reason(tally: _Tally, ratio: float, tolerance: ToleranceLike, name: str) -> str:
    if tally.forbidden:
        where = "the output" if tally.reference_is_finite else "the reference"
        return f"{name}: NaN or Inf in {where}"
    if tally.elements and tally.output_is_zero and not tally.reference_is_zero:
        return f"{name} is all zeros and the reference is not"
    if ratio < tolerance.required_matched_ratio:
        return (
            f"{name}: {1 - ratio:.4%} of its elements are off, "
            f"{1 - tolerance.required_matched_ratio:.4%} may be"
        )
    cap = tolerance.max_error_cap
    if cap is not None and tally.max_absolute > cap:
        return f"{name}: its largest error {tally.max_absolute:.6g} is above the cap {cap:.6g}"
    return ""


def _unravel(flat: int, shape: tuple[int, ...], elements: int) -> tuple[int, ...]:
    """Row-major index of a flat one. Packed 4-bit outputs have two elements a stored one."""
    stored = math.prod(shape)
    if stored and elements > stored:
        flat //= elements // stored
    index: list[int] = []
    for size in reversed(shape):
        flat, position = divmod(flat, size)
        index.append(position)
    return tuple(reversed(index))


def _within_budget(
    output: torch.Tensor,
    reference: torch.Tensor,
    oracle: torch.Tensor,
    budget: ErrorBudget,
    name: str,
) -> GateResult:
    truth = oracle.to(torch.float64).reshape(-1)
    got = output.to(torch.float64).reshape(-1)
    declared = reference.to(torch.float64).reshape(-1)
    same = (got == truth) | (torch.isnan(got) & torch.isnan(truth))
    finite = torch.isfinite(truth)
    illegal = (~finite & ~same) | (finite & ~torch.isfinite(got))
    error = (got - truth).abs().masked_fill_(~finite | illegal, 0.0)
    allowed_error = (declared - truth).abs().masked_fill_(~finite, 0.0)
    magnitude = truth.abs().masked_fill(~finite, 0.0)
    ulp = torch.finfo(reference.dtype).eps
    rms_limit = max(budget.rms_multiplier * _rms(allowed_error), ulp * _rms(magnitude))
    max_limit = max(budget.max_multiplier * _max(allowed_error), ulp * _max(magnitude))
    off = illegal | (error > max_limit)
    reason = _budget_reason(name, bool(illegal.any()), error, rms_limit, max_limit)
    first = None
    if reason and truth.numel():
        at = int(off.to(torch.uint8).argmax()) if bool(off.any()) else int(error.argmax())
        index = _unravel(at, tuple(reference.shape), truth.numel())
        first = Mismatch(index, float(truth[at]), float(got[at]))
    relative = (error / magnitude).masked_fill_(magnitude == 0, 0.0)
    return GateResult(
        status="INCORRECT_NUMERICAL" if reason else "PASSED",
        reason=reason,
        output=name,
        matched_ratio=1.0 - float(off.double().mean()) if off.numel() else 1.0,
        max_absolute_error=_max(error),
        max_relative_error=_max(relative),
        has_nan=bool(torch.isnan(got).any()),
        has_inf=bool(torch.isinf(got).any()),
        first=first,
    )


def _budget_reason(
    name: str, illegal: bool, error: torch.Tensor, rms_limit: float, max_limit: float
) -> str:
    if illegal:
        return f"{name}: NaN or Inf that the oracle does not have"
    if _rms(error) > rms_limit:
        return f"{name}: RMS error {_rms(error):.6g} is above its budget {rms_limit:.6g}"
    if _max(error) > max_limit:
        return f"{name}: largest error {_max(error):.6g} is above its budget {max_limit:.6g}"
    return ""


def _rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt()) if values.numel() else 0.0


def _max(values: torch.Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0
