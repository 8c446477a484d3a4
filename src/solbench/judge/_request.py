"""What an evaluation is asked for, and its workloads on their way to a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from solbench.jail import Limits
from solbench.judge._bounds import BoundOrNote
from solbench.judge._device import Arena
from solbench.judge._measurement import Measurement
from solbench.judge._oracle import Oracle
from solbench.judge._orders import Fault, Replayed, Verdict
from solbench.judge._seeds import SeedBook
from solbench.judge._statistics import Budget
from solbench.judge._verdicts import Failure
from solbench.judge.admission import Admission
from solbench.spec import Problem, Solution, Trace, Workload


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be evaluated, and how."""

    problem: Problem
    solution: Solution
    workloads: tuple[Workload, ...]
    hardware: str
    mode: str
    budget: Budget
    require_jail: bool
    require_admission: bool
    limits: Limits | None
    tell: Callable[[Verdict], None]
    faults: Mapping[str, Fault]
    replays: Mapping[str, Replayed] = field(default_factory=dict)
    timeout_s: float | None = None
    """Of one call, what it compiles included, in place of the limits' own."""
    profile: bool = False
    """One more call of each workload under the worker's own profiler."""


@dataclass(slots=True)
class Case:
    """One workload on its way to a verdict."""

    number: int
    """Its place in the request."""
    workload: Workload
    bound: BoundOrNote
    seeds: SeedBook
    measurement: Measurement = field(default_factory=Measurement)
    failure: Failure | None = None
    oracle: Oracle | None = None
    admission: Admission | None = None
    arena: Arena | None = None
    reference_arena: Arena | None = None
    shown_seed: int = 0
    """Of the throwaway values that workers meet."""
    layout: int = -1
    """Index of the worker's layout; -1 for a workload that is never run."""
    trace: Trace | None = None
