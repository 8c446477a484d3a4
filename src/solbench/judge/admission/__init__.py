"""Admission of a problem: a gate that lets through what takes no work is no gate.

Shared with the suite's own admission test, which asks more.
"""

from solbench.judge._choices import Choices
from solbench.judge._float64 import Float64Mode, run_float64, run_without_last_step
from solbench.judge._second_look import undecided
from solbench.judge._variations import varied
from solbench.judge.admission._answers import NULL_ANSWERS, Change, copies, in_lower_precision
from solbench.judge.admission._check import Admission, Finding, Outcome, admit
from solbench.judge.admission._values import (
    MOST_ERROR_ULPS,
    different_values,
    error_ulps,
    same_value,
)

__all__ = [
    "MOST_ERROR_ULPS",
    "NULL_ANSWERS",
    "Admission",
    "Change",
    "Choices",
    "Finding",
    "Float64Mode",
    "Outcome",
    "admit",
    "copies",
    "different_values",
    "error_ulps",
    "in_lower_precision",
    "run_float64",
    "run_without_last_step",
    "same_value",
    "undecided",
    "varied",
]
