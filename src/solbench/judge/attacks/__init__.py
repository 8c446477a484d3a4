"""The corpus of cheating submissions, run against the judge: no cheating may pay.

The cases themselves are not shipped; they lie in a checkout under ``tests/attacks/cases``, one file
each. A keeper of a benchmark can point ``solbench attacks run --corpus`` at cases of their own.
"""

from __future__ import annotations

from solbench.judge.attacks._ablation import (
    ABLATIONS,
    Ablation,
    run_ablation,
    run_control,
)
from solbench.judge.attacks._case import AttackCase, DeviceKind, HonestCase, Kind, Submission
from solbench.judge.attacks._corpus import load_corpus, runnable
from solbench.judge.attacks._run import (
    GAIN_SHARE,
    Finding,
    Observation,
    gain_of,
    gains,
    observe,
    require_walls,
    run_attack,
    run_honest,
)

__all__ = [
    "ABLATIONS",
    "GAIN_SHARE",
    "Ablation",
    "AttackCase",
    "DeviceKind",
    "Finding",
    "HonestCase",
    "Kind",
    "Observation",
    "Submission",
    "gain_of",
    "gains",
    "load_corpus",
    "observe",
    "require_walls",
    "run_ablation",
    "run_attack",
    "run_control",
    "run_honest",
    "runnable",
]
