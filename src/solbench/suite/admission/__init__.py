"""The admission test of a suite problem: does it say what it means, and can it tell right from wrong.

Imports torch; the rest of the suite does not.
"""

from __future__ import annotations

from solbench.judge.admission import NULL_ANSWERS, run_float64
from solbench.suite.admission._bounds import BoundScope
from solbench.suite.admission._check import Finding, ProblemCheck, check_problem
from solbench.suite.admission._faults import FAULTS
from solbench.suite.admission._pool import check_problems

__all__ = [
    "FAULTS",
    "NULL_ANSWERS",
    "BoundScope",
    "Finding",
    "ProblemCheck",
    "check_problem",
    "check_problems",
    "run_float64",
]
