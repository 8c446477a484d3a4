"""The rule of the public benchmark: element by element, one tolerance for all outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from solbench.gate._form import CHUNK_ELEMENTS, as_float32, compare_form, unravel
from solbench.gate._types import GateResult, Mismatch, ToleranceLike


def official_gate(
    output: torch.Tensor, reference: torch.Tensor, tolerance: ToleranceLike, name: str = "output"
) -> GateResult:
    """The public benchmark's rule for one output.

    Shape and dtype first, strictly. Then, both cast to float32: any NaN or Inf on either side fails
    (a ``-inf`` on both sides is allowed where the tolerance says so); all zeros against a reference
    that is not fails; an element matches if ``|o - r| <= atol + rtol * |r|``, and the matched share
    and the error cap must hold.
    """
    form = compare_form(output, reference, name)
    if form is not None:
        return form
    tally = Tally()
    for start, got, expected in _chunks(output, reference):
        _count_chunk(tally, start, got, expected, tolerance)
    return verdict(tally, tuple(reference.shape), tolerance, name)


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
        worst = worst_of(worst, result)
    return worst


def worst_of(worst: GateResult, result: GateResult) -> GateResult:
    """Two results that passed, as one."""
    return replace(
        worst,
        matched_ratio=min(worst.matched_ratio, result.matched_ratio),
        max_absolute_error=max(worst.max_absolute_error, result.max_absolute_error),
        max_relative_error=max(worst.max_relative_error, result.max_relative_error),
        has_inf=worst.has_inf or result.has_inf,
    )


@dataclass(slots=True)
class Tally:
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


def _chunks(
    output: torch.Tensor, reference: torch.Tensor
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Pairs of flat float32 pieces with the index of their first element."""
    flat_output, flat_reference = output.reshape(-1), reference.reshape(-1)
    size = CHUNK_ELEMENTS.get(reference.device.type, CHUNK_ELEMENTS["cpu"])
    for start in range(0, flat_reference.numel(), size):
        piece = slice(start, start + size)
        yield start, as_float32(flat_output[piece]), as_float32(flat_reference[piece])


def _count_chunk(
    tally: Tally,
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
    tally: Tally,
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


def verdict(
    tally: Tally, shape: tuple[int, ...], tolerance: ToleranceLike, name: str
) -> GateResult:
    ratio = tally.matched / tally.elements if tally.elements else 1.0
    reason = _failure_reason(tally, ratio, tolerance, name)
    first = None
    if reason and tally.first is not None:
        flat, expected, got = tally.first
        first = Mismatch(unravel(flat, shape, tally.elements), expected, got)
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


def _failure_reason(tally: Tally, ratio: float, tolerance: ToleranceLike, name: str) -> str:
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
