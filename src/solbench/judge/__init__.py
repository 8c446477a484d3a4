"""The trusted side: owns inputs, expected outputs, the clock, the comparison and the verdict."""

from solbench.judge._device import Arena, Device, Passage, Run, open_device
from solbench.judge._reference import reference_solution
from solbench.judge._session import EvaluationResult, Judge, Mode, evaluate
from solbench.judge._statistics import BUDGETS, Budget, Interval, StopRule, median_interval
from solbench.judge._verdicts import Failure

__all__ = [
    "BUDGETS",
    "Arena",
    "Budget",
    "Device",
    "EvaluationResult",
    "Failure",
    "Interval",
    "Judge",
    "Mode",
    "Passage",
    "Run",
    "StopRule",
    "evaluate",
    "median_interval",
    "open_device",
    "reference_solution",
]
