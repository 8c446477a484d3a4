"""What a gate says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "failed", "not_verified"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one gate and why; ``not_verified`` leaves the question open."""

    outcome: Outcome
    detail: str = ""


def passed(detail: str = "") -> Answer:
    return Answer("ok", detail)


def unless(problems: Sequence[str], detail: str = "") -> Answer:
    """Failed if there is any problem, else passed with ``detail``."""
    return Answer("failed", "; ".join(problems)) if problems else Answer("ok", detail)


def undecided(reason: str) -> Answer:
    return Answer("not_verified", reason)
