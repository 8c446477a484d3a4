"""The trusted side: owns inputs, expected outputs, the clock, the comparison and the verdict.

Names are imported on first use, so that the process that only asks a judge need not import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solbench._lazy import imported_on_use

if TYPE_CHECKING:
    from solbench.judge._compare import Comparison as Comparison
    from solbench.judge._compare import Side as Side
    from solbench.judge._device import Arena as Arena
    from solbench.judge._device import Device as Device
    from solbench.judge._device import Passage as Passage
    from solbench.judge._device import Run as Run
    from solbench.judge._device import open_device as open_device
    from solbench.judge._link import ReferenceLimits as ReferenceLimits
    from solbench.judge._phases import Phase as Phase
    from solbench.judge._process import Judge as Judge
    from solbench.judge._process import evaluate as evaluate
    from solbench.judge._reference import reference_solution as reference_solution
    from solbench.judge._replay import Replay as Replay
    from solbench.judge._results import EvaluationResult as EvaluationResult
    from solbench.judge._results import Mode as Mode
    from solbench.judge._results import Options as Options
    from solbench.judge._session import LocalJudge as LocalJudge
    from solbench.judge._statistics import BUDGETS as BUDGETS
    from solbench.judge._statistics import Budget as Budget
    from solbench.judge._statistics import Interval as Interval
    from solbench.judge._statistics import StopRule as StopRule
    from solbench.judge._statistics import median_interval as median_interval
    from solbench.judge._verdicts import Failure as Failure
    from solbench.judge.admission import Admission as Admission
    from solbench.judge.admission import Finding as Finding

_HOMES = {
    "BUDGETS": "_statistics",
    "Admission": "admission",
    "Arena": "_device",
    "Budget": "_statistics",
    "Comparison": "_compare",
    "Device": "_device",
    "EvaluationResult": "_results",
    "Failure": "_verdicts",
    "Finding": "admission",
    "Interval": "_statistics",
    "Judge": "_process",
    "LocalJudge": "_session",
    "Mode": "_results",
    "Options": "_results",
    "Passage": "_device",
    "Phase": "_phases",
    "ReferenceLimits": "_link",
    "Replay": "_replay",
    "Run": "_device",
    "Side": "_compare",
    "StopRule": "_statistics",
    "evaluate": "_process",
    "median_interval": "_statistics",
    "open_device": "_device",
    "reference_solution": "_reference",
}

__all__ = [
    "BUDGETS",
    "Admission",
    "Arena",
    "Budget",
    "Comparison",
    "Device",
    "EvaluationResult",
    "Failure",
    "Finding",
    "Interval",
    "Judge",
    "LocalJudge",
    "Mode",
    "Options",
    "Passage",
    "Phase",
    "ReferenceLimits",
    "Replay",
    "Run",
    "Side",
    "StopRule",
    "evaluate",
    "median_interval",
    "open_device",
    "reference_solution",
]

__getattr__ = imported_on_use(__name__, _HOMES)
