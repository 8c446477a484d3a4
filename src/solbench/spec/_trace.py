"""Trace: the verdict on one workload, in the official form plus one key of ours."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import field_validator, model_validator

from solbench.spec._definition import _Exchanged
from solbench.spec._field_problems import FieldProblem, Name, refuse_if
from solbench.spec._workload import Workload

Status = Literal[
    "PASSED", "INCORRECT_SHAPE", "INCORRECT_DTYPE", "INCORRECT_NUMERICAL", "RUNTIME_ERROR",
    "COMPILE_ERROR", "TIMEOUT", "REWARD_HACK", "INVALID_REFERENCE",
]  # fmt: skip


class Correctness(_Exchanged):
    max_relative_error: float | None
    """``None`` where it is not a finite number: strict JSON has no NaN."""
    max_absolute_error: float | None
    has_nan: bool = False
    has_inf: bool = False

    @field_validator("max_relative_error", "max_absolute_error", mode="before")
    @classmethod
    def _not_finite_is_none(cls, number: Any) -> Any:
        return None if isinstance(number, float) and not math.isfinite(number) else number


class Performance(_Exchanged):
    latency_ms: float
    reference_latency_ms: float
    speedup_factor: float


class Environment(_Exchanged):
    hardware: str
    libs: dict[str, str]


class Evaluation(_Exchanged):
    status: Status
    log: str
    """The tail of what the submission printed, or the reason of the verdict."""
    correctness: Correctness | None
    """Only when PASSED or INCORRECT_NUMERICAL."""
    performance: Performance | None
    """Only when PASSED."""
    environment: Environment
    timestamp: str
    """ISO 8601, UTC."""

    @model_validator(mode="after")
    def _rules(self) -> Evaluation:
        problems = []
        if self.performance is not None and self.status != "PASSED":
            problems.append(self._out_of_place("performance", "PASSED"))
        if self.correctness is not None and self.status not in ("PASSED", "INCORRECT_NUMERICAL"):
            problems.append(self._out_of_place("correctness", "PASSED or INCORRECT_NUMERICAL"))
        refuse_if(problems)
        return self

    def _out_of_place(self, key: str, status: str) -> FieldProblem:
        what = f"stands beside status {self.status}; only {status} has it"
        return FieldProblem(what, (key,), "Set it to null.")


class Flag(_Exchanged):
    """Something a reader of the result must know; it is no verdict."""

    id: str
    evidence: str


class GuardFinding(_Exchanged):
    """What a static rule saw in the sources or in what was built. A signal: no verdict rests on it."""

    rule: str
    severity: Literal["note", "warning", "alarm"]
    file: str
    line: int
    """From 1; 0 for a file as a whole."""
    message: str
    excerpt: str = ""


class Timing(_Exchanged):
    """Latency of one call by the judge's clock."""

    median_ms: float
    ci_low_ms: float
    ci_high_ms: float
    """The 95 % interval of the median, from order statistics."""
    samples: tuple[float, ...]
    """Raw, in ms, in order of measurement."""
    p5_ms: float | None = None
    p95_ms: float | None = None
    dropped: int = 0
    clock: str = "host"
    """Which clock: ``host`` (CPU), ``drain``, ``single`` or ``event``."""
    verified: bool = True
    """The clock is the judge's own, not the worker's claim."""
    cache: Literal["cold", "hot"] = "cold"
    timer_floor_ms: float = 0.0
    """What an empty kernel shows on the same clock; already subtracted."""


class SolBenchRecord(_Exchanged):
    """The value of a trace's ``solbench`` key."""

    t_sol_ms: float | None
    t_attainable_ms: float | None
    t_floor_ms: float | None
    binding: Literal["dram", "matrix"] | None
    score: float | None
    score_note: str
    """How the score came about, or why there is none."""
    baseline: str
    """Where T_b comes from; ``provisional: reference`` until a baseline is frozen."""
    flags: tuple[Flag, ...]
    timing: Timing | None
    reference_timing: Timing | None
    digests: dict[str, str]
    """SHA-256 of definition, workload, solution, artifact; and the commitment to the seeds."""
    jail: dict[str, Any]
    """Which layers stood: name → true, or why not."""
    bound: dict[str, Any] | None
    """The bound's terms, as ``solbench bound --json`` prints them."""
    readings: dict[str, dict[str, float]] | None = None
    """What the device said of itself while it was timed: name (``sm_clock_mhz``, ``power_w``, …) →
    ``min``, ``median``, ``max``."""
    failure: dict[str, Any] | None = None
    """Where an output is wrong: output, index, expected, got, share of elements off, worst errors."""
    advice: dict[str, Any] | None = None
    """What the worker's own profiler says of one call: ``kernels``, ``busy_ms``, ``log``. Untrusted."""
    precision: dict[str, Any] | None = None
    """Errors of candidate and reference against float64, over the calls that were audited."""
    admission: dict[str, Any] | None = None
    """What was found about the problem itself: ``passed``, and check → outcome and detail."""
    findings: tuple[GuardFinding, ...] = ()
    """What static rules saw in the solution, gravest first."""
    mode: str = ""
    """``reward`` or ``rank``."""
    device: str = ""
    """As asked for: ``cpu``, ``cuda:0``."""
    calls: int = 0
    """Calls that were made and compared, warm-up included."""
    phase: str = "run"
    """Where the verdict fell: ``spec``, ``build``, ``prepare``, ``seal``, ``run``, ``compare``."""
    version: str


class Trace(_Exchanged):
    """The verdict on one workload, with everything needed to question it: one line of a JSONL file."""

    definition: Name
    solution: Name
    workload: Workload
    evaluation: Evaluation
    solbench: SolBenchRecord | None = None
