"""How much of a product may be lowered where all of it may not: half of a sum in fp8, the quiet rows in int8.

Rounding errors of different parts of a sum are independent, so their squares add: lowering a share s of the
work adds s times the square that lowering all of it adds. A kernel may choose the parts that do least harm:
rows or columns of the output that are known to be quiet.
"""

from __future__ import annotations

from math import ceil

import torch

SHORTEST_LINE = 16
"""Of fewer elements nothing can be told: then all lines count as one."""


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
    return max(_filled(lines, room) for lines in _lines(added))


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


def _filled(lines: torch.Tensor, room: float) -> float:
    """Share of the lines that fit: the quietest whole, and as much of the next as there is room for.

    ``lines``: squares that every element adds where its line is lowered. Which lines are quiet is told by half
    of their elements and what they add by the other half: no kernel chooses by the luck of its errors.
    """
    halves = (lines[:, 0::2], lines[:, 1::2]) if lines.shape[1] > 1 else (lines, lines)
    shares = []
    for known, judged in (halves, halves[::-1]):
        order = known.mean(dim=1).argsort()
        costs = judged.mean(dim=1).clamp(min=0)[order] / len(lines)
        total = costs.cumsum(0)
        whole = int((total <= room).sum())
        left = room - (float(total[whole - 1]) if whole else 0.0)
        part = left / float(costs[whole]) if whole < len(lines) else 0.0
        shares.append((whole + part) / len(lines))
    return sum(shares) / 2


def _lines(values: torch.Tensor) -> list[torch.Tensor]:
    """Rows and columns, [lines, elements]; all as one line where they are too short to tell."""
    if values.dim() < 2:
        return [values.reshape(1, -1)]
    rows = values.reshape(-1, values.shape[-1])
    forms = [form for form in (rows, rows.T) if form.shape[1] >= SHORTEST_LINE]
    return forms or [values.reshape(1, -1)]
