"""Challenge a bound: is a claimed time explained, and if not, which tiny program shows the mistake?"""

from __future__ import annotations

from solbench.bound.challenge._case import Case, Finding
from solbench.bound.challenge._challenge import Challenge, Times, challenge
from solbench.bound.challenge._count import Count, Excess, count_work, excess
from solbench.bound.challenge._report import challenge_record, challenge_text, write_challenge
from solbench.bound.challenge._triage import Triage, triage

__all__ = [
    "Case",
    "Challenge",
    "Count",
    "Excess",
    "Finding",
    "Times",
    "Triage",
    "challenge",
    "challenge_record",
    "challenge_text",
    "count_work",
    "excess",
    "triage",
    "write_challenge",
]
