"""How far a bound can be trusted, and why: from what the derivation itself knows of its gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from solbench.bound._result import Bound

Level = Literal["high", "medium", "low", "none"]
_ORDER: tuple[Level, ...] = ("high", "medium", "low", "none")


@dataclass(frozen=True, slots=True)
class Confidence:
    """A level, and everything that speaks against a higher one."""

    level: Level
    reasons: tuple[str, ...]


def confidence(bound: Bound) -> Confidence:
    """``high``: verified and priced from a device file; each gap lowers it; ``none``: there is no bound."""
    doubts = _doubts(bound)
    worst = max((_ORDER.index(each) for each, _ in doubts), default=0)
    level = _ORDER[worst]
    return Confidence(level, tuple(reason for _, reason in doubts))


def _doubts(bound: Bound) -> list[tuple[Level, str]]:
    if bound.error is not None:
        return [("none", bound.error)]
    found: list[tuple[Level, str]] = []
    if not bound.complete:
        found.append(("none", f"no rule for {', '.join(bound.unknown_ops)}"))
    if not bound.verified:
        found.append(("medium", "the graph was not verified against the reference (--verify)"))
    if bound.hardware == "cpu":
        found.append(
            ("low", "peaks are measured on this machine, and a better kernel may pass them")
        )
    if bound.admission is not None and bound.admission.status == "undecided":
        found.append(("medium", "it is undecided whether the gate lets a lower precision through"))
    if bound.capture == "real":
        found.append(("medium", "what depends on values was taken from one random draw"))
    found += [("medium", text) for text in bound.assumptions if "nothing under the mask" in text]
    return found
