"""Rich table of the precision that a problem's gate lets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from solbench.report._grid import grid

if TYPE_CHECKING:
    from solbench.bound import Admission, Trial

_LINE_CHARS = 34


def admission_report(admission: Admission) -> RenderableType:
    """Where each class was tried, and how far from the tolerance it was; one sentence if nothing was."""
    if not admission.places:
        why = f": {admission.reason}" if admission.reason else ""
        return Text(f"lower precision: {admission.status.replace('_', ' ')}{why}", style="dim")
    table = grid("product", "declared", "priced as", "tried: error over tolerance")
    for place in admission.places:
        tried = ", ".join(_trial(trial) for trial in place.trials) or "too little work to matter"
        line = place.location
        line = line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…"
        priced = (
            f"{place.admitted}, {place.part_share:.0%} {place.part}"
            if place.part
            else place.admitted
        )
        table.add_row(Text(line, "dim"), place.declared, Text(priced, "bold"), tried)
    sizes = ", ".join(f"{name} {size}" for name, size in (admission.axes or {}).items())
    return Group(table, Text(f"by the {admission.gate} gate, at {sizes}", style="dim"))


def _trial(trial: Trial) -> str:
    return f"{trial.kind} {trial.error_over_tolerance:.2g}"
