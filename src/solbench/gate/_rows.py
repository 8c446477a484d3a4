"""Outputs row by row, where several answers are right: a program may choose otherwise between values that
all but tie, and then whole rows follow from its choice.

A row is what has the same leading indices: a token of ``[tokens, width]``, an element of ``[tokens]``.
Outputs of as many rows are one group: their rows come from one choice, so they are taken together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from solbench.gate._budget import ulp, within_largest
from solbench.gate._form import CHUNK_ELEMENTS, as_float32, compare_form
from solbench.gate._types import ErrorBudget, OutputError

MOST_ROWS = 0.01
"""Of a group's rows may follow from another choice, and one more: of few rows one is already many."""

_SUSPICIOUS = 16.0
"""Times the median row's error: what rounding alone does not do."""
_MOST_UNITS = 64.0
"""In the last place: no sound reference is further from float64 in root mean square."""


def rows_allowed(rows: int) -> int:
    """How many of so many rows may follow from another choice."""
    return 1 + math.floor(MOST_ROWS * rows)


class NearestRows:
    """For each row of an output the nearest of several right answers; the first is the reference's own.

    ``limits``: output → what an element may be off by for its row to count as matched.
    """

    def __init__(
        self,
        outputs: Mapping[str, torch.Tensor],
        expected: Mapping[str, torch.Tensor],
        limits: Mapping[str, float],
    ) -> None:
        self._outputs = outputs
        self._limits = limits
        self._groups = _groups(expected)
        self._distances = {
            rows: _distance(names, outputs, expected, limits)
            for rows, names in self._groups.items()
        }
        self.rows: dict[str, torch.Tensor] = dict(expected)
        """The right answer that is nearest, row by row."""
        self.taken: dict[int, torch.Tensor] = {
            rows: torch.zeros_like(distance, dtype=torch.bool)
            for rows, distance in self._distances.items()
        }
        """Number of rows → which of them come from another answer than the first."""

    @property
    def unmatched(self) -> int:
        """Rows that are near none of the answers so far."""
        return sum(int((each > 1).sum()) for each in self._distances.values())

    @property
    def others(self) -> int:
        """Rows that come from another answer than the first."""
        return sum(int(each.sum()) for each in self.taken.values())

    @property
    def may_be_ties(self) -> bool:
        """Whether so few rows are off that ties could be the reason, and some are."""
        off = {rows: int((each > 1).sum()) for rows, each in self._distances.items()}
        return any(off.values()) and all(n <= rows_allowed(rows) for rows, n in off.items())

    def group_of(self, name: str) -> int:
        """The number of rows by which an output's rows are known in ``taken``."""
        return row_count(self._outputs[name])

    def offer(self, answer: Mapping[str, torch.Tensor]) -> bool:
        """Take those rows of another right answer that match where the nearest so far does not. Whether there
        were any."""
        changed = False
        for rows, names in self._groups.items():
            if any(compare_form(answer[n], self.rows[n], n) is not None for n in names):
                continue
            distance = _distance(names, self._outputs, answer, self._limits)
            better = (distance <= 1) & (self._distances[rows] > 1)
            if not bool(better.any()):
                continue
            changed = True
            self._distances[rows] = torch.where(better, distance, self._distances[rows])
            self.taken[rows] = self.taken[rows] | better
            for name in names:
                self.rows[name] = replace_rows(self.rows[name], answer[name], better)
        return changed


def rows_off(
    outputs: Mapping[str, torch.Tensor],
    expected: Mapping[str, torch.Tensor],
    limits: Mapping[str, float],
) -> dict[int, torch.Tensor]:
    """Number of rows → bool [rows]: those with an element that is off by more than its limit."""
    groups = _groups(expected).items()
    return {rows: _distance(names, outputs, expected, limits) > 1 for rows, names in groups}


def _distance(
    names: list[str],
    outputs: Mapping[str, torch.Tensor],
    answer: Mapping[str, torch.Tensor],
    limits: Mapping[str, float],
) -> torch.Tensor:
    """float64 [rows]: the largest error of a row over its limit, that of the worst output."""
    return torch.stack([_row_errors(outputs[n], answer[n]) / limits[n] for n in names]).amax(0)


def largest_allowed(
    expected: Mapping[str, torch.Tensor],
    errors: Mapping[str, OutputError],
    budget: ErrorBudget,
) -> dict[str, float]:
    """What an element of each output may differ from the reference by (:func:`reference_gate`)."""
    return {
        name: max(within_largest(errors.get(name, OutputError()), budget, right.dtype), 1e-300)
        for name, right in expected.items()
    }


def usual_largest(
    outputs: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]
) -> dict[str, float]:
    """What rounding explains of the difference of two runs of one program: so many times the median row's, or
    so many units in the last place of the usual value, where there are too few rows for a median to tell."""
    return {name: _usual(outputs[name], right) for name, right in expected.items()}


def _usual(output: torch.Tensor, right: torch.Tensor) -> float:
    if not right.dtype.is_floating_point or not right.numel():
        return 1.0
    unit = ulp(right.dtype) * _mean_size(right)
    usual = _SUSPICIOUS * float(_row_errors(output, right).median())
    # Rows that are exact must not make one unit suspicious.
    return max(min(usual, _MOST_UNITS * unit), unit, 1e-300)


def _mean_size(tensor: torch.Tensor) -> float:
    """Of the finite elements, piece by piece: widened, all of them may not fit on the device."""
    flat, step = tensor.reshape(-1), CHUNK_ELEMENTS["cuda"]
    pieces = (flat[start : start + step] for start in range(0, flat.numel(), step))
    sizes = (_plain(piece).nan_to_num_(0.0, 0.0, 0.0).abs_().sum() for piece in pieces)
    return float(sum(sizes)) / flat.numel()


def replace_rows(output: torch.Tensor, answer: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """``output`` with the marked rows of ``answer``."""
    bits = torch.where(rows[:, None], _by_row(_bits(answer)), _by_row(_bits(output)))
    return bits.view(_bits(output).shape).view(output.dtype)


def row_count(output: torch.Tensor) -> int:
    """An output of one dimension has as many rows as elements."""
    return math.prod(output.shape[:-1]) if output.dim() > 1 else output.numel()


def _groups(outputs: Mapping[str, torch.Tensor]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for name, output in outputs.items():
        if output.numel():
            groups.setdefault(row_count(output), []).append(name)
    return groups


def _row_errors(output: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """float64 [rows]: the largest absolute error; infinite where whole numbers differ, or a NaN or Inf is on
    one side alone."""
    rows = row_count(right)
    step = max(1, CHUNK_ELEMENTS["cuda"] * rows // max(1, right.numel()))
    got, wanted = _by_row(output), _by_row(right)
    pieces = [slice(start, start + step) for start in range(0, rows, step)]
    return torch.cat([_errors_of_rows(got[piece], wanted[piece]) for piece in pieces])


def _errors_of_rows(output: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    if not right.dtype.is_floating_point:
        off = (output != right).any(1)
        return torch.zeros_like(off, dtype=torch.float64).masked_fill_(off, math.inf)
    got, wanted = _plain(output), _plain(right)
    same = (got == wanted) | (torch.isnan(got) & torch.isnan(wanted))
    error = (got - wanted).abs_().masked_fill_(same, 0.0).nan_to_num_(math.inf, math.inf)
    return error.view(len(right), -1).amax(1)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """float64, packed halves apart."""
    packed = "float4" in str(tensor.dtype)
    return (as_float32(tensor) if packed else tensor).to(torch.float64)


def _by_row(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(row_count(tensor), -1)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """What ``torch.where`` can move: eight-bit floats as they are stored."""
    return tensor.view(torch.uint8) if tensor.dtype.itemsize == 1 else tensor
