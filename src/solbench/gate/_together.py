"""Several calls of one form judged at once: on a GPU every number that is read costs a synchronisation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from solbench.gate._form import can_be_joined, groups_to_join
from solbench.gate._official import Tally, official_gate_all, verdict, worst_of
from solbench.gate._types import GateResult, ToleranceLike


def official_gate_calls(
    outputs: Sequence[Mapping[str, torch.Tensor]],
    references: Sequence[Mapping[str, torch.Tensor]],
    tolerance: ToleranceLike,
) -> list[GateResult]:
    """:func:`official_gate_all` for each of several calls of one form.

    On a GPU every number that is read costs a synchronisation, so small outputs of all calls are
    judged together; a call that does not plainly pass is then looked at by itself.
    """
    together: list[GateResult | None] = []
    for start, stop in groups_to_join(references):
        mine, right = outputs[start:stop], references[start:stop]
        joined = can_be_joined(mine, right)
        together += _judge_together(mine, right, tolerance) if joined else [None] * len(right)
    return [
        known or official_gate_all(mine, right, tolerance)
        for known, mine, right in zip(together, outputs, references, strict=True)
    ]


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
        tally = Tally(
            elements=elements,
            matched=int(seen.matched),
            max_absolute=seen.largest,
            max_relative=seen.largest_relative,
            output_is_zero=bool(seen.output_is_zero),
            reference_is_zero=bool(seen.reference_is_zero),
        )
        result = verdict(tally, tuple(references[name].shape), tolerance, name)
        if not result.passed:
            return None
        worst = worst_of(worst, result)
    return worst
