"""Records of ``guard``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from solbench.cli._lines import Line
from solbench.judge.guard import Finding, Opinion, SecondOpinion, Severity, is_suspicious


class RuleLine(Line):
    """With ``--list-rules``: one rule."""

    rule: str
    severity: Severity
    about: str


class ReviewRecord(Line):
    """What a language model said about the sources."""

    opinion: Opinion
    agrees: bool
    """Both find something, or neither does."""
    comparison: str

    @classmethod
    def of(cls, asked: SecondOpinion) -> Self:
        return cls(opinion=asked.opinion, agrees=asked.agrees, comparison=asked.comparison)


class GuardLine(Line):
    """What a solution's text says about its intentions."""

    solution: str
    suspicious: bool
    """A warning or an alarm is among the findings."""
    findings: tuple[Finding, ...]
    reviewer: ReviewRecord | None
    """Null unless one was asked."""

    @classmethod
    def of(cls, solution: str, findings: Sequence[Finding], asked: SecondOpinion | None) -> Self:
        return cls(
            solution=solution,
            suspicious=is_suspicious(findings),
            findings=tuple(findings),
            reviewer=None if asked is None else ReviewRecord.of(asked),
        )
