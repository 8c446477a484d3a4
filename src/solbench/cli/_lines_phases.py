"""The record of ``eval --phases``, apart from those of the judge, which bring torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from solbench.cli._lines import Line
from solbench.judge import Phase


class PhaseRecord(Line):
    """One part of the work. Parts overlap, and lie within each other."""

    name: str
    began_s: float
    """After the first one."""
    seconds: float


class PhasesLine(Line):
    """With ``--phases`` the last line: where the time went."""

    phases: tuple[PhaseRecord, ...]

    @classmethod
    def of(cls, phases: Sequence[Phase]) -> Self:
        start = min((each.began_s for each in phases), default=0.0)
        return cls(
            phases=tuple(
                PhaseRecord(name=each.name, began_s=each.began_s - start, seconds=each.seconds)
                for each in phases
            )
        )
