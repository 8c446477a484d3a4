"""How much of a product may be lowered where all of it may not: half of a sum in fp8, the quiet rows in int8.

Rounding errors of different parts of a sum are independent, so their squares add: lowering a share s of the
work adds s times the square that lowering all of it adds. A kernel may choose the parts that do least harm;
whole rows or columns of the output is the finest choice that it can make before it knows the errors.
"""

from __future__ import annotations

from math import ceil

import torch

SHORTEST_ROW = 16
"""Errors of fewer elements differ by luck, which no kernel knows beforehand: they count as one."""


def share_within_rms(
    lowered: torch.Tensor, plain: torch.Tensor, truth: torch.Tensor, limit: float
) -> float:
    """Largest share of the work that may be lowered with a root mean square error of at most ``limit``.

    ``lowered``: the output with all of the product lowered; ``plain``: with none of it; all of one shape.
    """
    before = (plain.double() - truth.double()).square()
    after = (lowered.double() - truth.double()).square().nan_to_num(torch.inf)
    room = max(0.0, limit**2 - float(before.mean()))
    added = (after - before).nan_to_num(torch.inf)
    return max(_filled(parts, room) for parts in _parts(added))


def share_within_tolerance(excess: torch.Tensor, matched: float) -> float:
    """The same where a share ``matched`` of all elements must have an error of at most its tolerance.

    ``excess``: error over tolerance of every element with all of the product lowered. What need not match
    may be lowered in any way.
    """
    shares = []
    for parts in _lines(excess.double().nan_to_num(torch.inf)):
        last = max(1, ceil(matched * parts.shape[1]))
        worst = parts.kthvalue(last, dim=1).values.clamp(min=1.0)
        shares.append(float((1 / worst.square()).mean()))
    return min(1.0, max(shares) + 1.0 - matched)


def _filled(added: torch.Tensor, room: float) -> float:
    """Share of the parts that fit: the quietest whole, and as much of the next as there is room for.

    ``added``: mean square error that each part adds where it is lowered, over equal parts.
    """
    costs = added.clamp(min=0).sort().values / added.numel()
    total = costs.cumsum(0)
    whole = int((total <= room).sum())
    if whole == costs.numel():
        return 1.0
    left = room - (float(total[whole - 1]) if whole else 0.0)
    return (whole + left / float(costs[whole])) / costs.numel()


def _parts(added: torch.Tensor) -> list[torch.Tensor]:
    """Means over rows and over columns."""
    return [lines.mean(dim=1) for lines in _lines(added)]


def _lines(values: torch.Tensor) -> list[torch.Tensor]:
    """Rows and columns, [lines, elements]; all as one line where they are too short to tell."""
    if values.dim() < 2:
        return [values.reshape(1, -1)]
    rows = values.reshape(-1, values.shape[-1])
    forms = [form for form in (rows, rows.T) if form.shape[1] >= SHORTEST_ROW]
    return forms or [values.reshape(1, -1)]
