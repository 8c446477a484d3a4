"""Two solutions side by side, workload by workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._grid import grid

if TYPE_CHECKING:
    from solbench.judge import Comparison

_NAMES = {"first": "A", "second": "B", "tie": "tie", "not_compared": fmt.ABSENT}


def comparison_report(found: Sequence[Comparison], problem: str, first: str, second: str) -> Group:
    """Which of the solutions named ``first`` and ``second`` is faster, and by how much."""
    title = Text.assemble((problem, "bold"), "   A ", (first, "bold"), "   B ", (second, "bold"))
    numbers = ("A", "B", "B ÷ A", "95 % interval", "samples")
    table = grid("workload", *numbers[:4], "faster", "samples", numbers=numbers)
    for each in found:
        times = [
            fmt.duration(side.timing.median) if side.timing else side.status.replace("_", " ")
            for side in (each.first, each.second)
        ]
        ratio = each.ratio
        shown = (
            [
                fmt.significant(ratio.median),
                f"{fmt.significant(ratio.low)} to {fmt.significant(ratio.high)}",
            ]
            if ratio
            else [fmt.ABSENT, fmt.ABSENT]
        )
        faster = Text(_NAMES[each.outcome], style="bold")
        name = fmt.short_uuid(each.workload)
        table.add_row(name, *times, *shown, faster, str(each.samples or ""))
    doubtful = sum(each.ratio is not None and not each.verified for each in found)
    notes = [Text(line) for each in found for line in _failures(each)]
    if doubtful:
        where = f"{doubtful} of {len(found)} workloads"
        notes.append(Text(f"unverified: a time is in doubt on {where}; see eval", style="yellow"))
    return Group(title, table, *notes)


def _failures(compared: Comparison) -> Iterator[str]:
    for name, side in (("A", compared.first), ("B", compared.second)):
        if side.status != "PASSED":
            place = f"✗ {fmt.short_uuid(compared.workload)} {name}"
            yield f"{place} {side.status}: {side.reason}".removesuffix(": ")
