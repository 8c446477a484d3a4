"""Fixtures that several packages' tests share: traces made by hand, without running anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from solbench.spec import Trace

_BOUND = {
    "problem": "gemm",
    "hardware": "h200",
    "clock_mhz": 1980.0,
    "binding": "matrix",
    "matrix_flops": {"bf16": 2_000_000_000},
    "dram_read_bytes": 3 << 20,
    "dram_write_bytes": 1 << 20,
    "complete": True,
    "unknown_ops": [],
    "capture": "fake",
    "verified": True,
    "assumptions": ["classical arithmetic"],
}


def _timing(median_ms: float) -> dict[str, Any]:
    return {
        "median_ms": median_ms,
        "ci_low_ms": median_ms * 0.99,
        "ci_high_ms": median_ms * 1.01,
        "samples": [median_ms] * 30,
    }


def _trace(
    uuid: str = "11111111-aaaa-4aaa-8aaa-000000000001",
    *,
    status: str = "PASSED",
    time_ms: float = 0.5,
    reference_ms: float = 1.0,
    t_sol_ms: float | None = 0.1,
    score: float | None = 0.69,
    flags: tuple[dict[str, str], ...] = (),
    failure: dict[str, Any] | None = None,
    log: str = "",
    definition: str = "gemm",
    solution: str = "fast",
    axes: dict[str, int] | None = None,
) -> Trace:
    passed = status == "PASSED"
    checked = status in ("PASSED", "INCORRECT_NUMERICAL")
    return Trace.model_validate(
        {
            "definition": definition,
            "solution": solution,
            "workload": {"uuid": uuid, "axes": axes or {"batch": 4, "hidden": 4096}},
            "evaluation": {
                "status": status,
                "log": log,
                "correctness": {"max_relative_error": 0.0, "max_absolute_error": 0.0}
                if checked
                else None,
                "performance": {
                    "latency_ms": time_ms,
                    "reference_latency_ms": reference_ms,
                    "speedup_factor": reference_ms / time_ms,
                }
                if passed
                else None,
                "environment": {"hardware": "Test CPU", "libs": {"torch": "2.13.0"}},
                "timestamp": "2026-01-01T00:00:00+00:00",
            },
            "solbench": {
                "t_sol_ms": t_sol_ms,
                "t_attainable_ms": None if t_sol_ms is None else 1.5 * t_sol_ms,
                "t_floor_ms": t_sol_ms,
                "binding": "matrix" if t_sol_ms else None,
                "score": score if passed else None,
                "score_note": "against the provisional baseline",
                "baseline": "provisional: reference",
                "flags": list(flags),
                "timing": _timing(time_ms) if passed else None,
                "reference_timing": _timing(reference_ms),
                "digests": {"definition": "d" * 64, "solution": "5" * 64},
                "jail": {"landlock": True, "seccomp": True},
                "bound": _BOUND | {"t_sol_ms": t_sol_ms},
                "failure": failure,
                "version": "0.1.0",
            },
        }
    )


@pytest.fixture(scope="session")
def make_trace() -> Callable[..., Trace]:
    """A trace whose parts of interest are given by keyword."""
    return _trace


@pytest.fixture
def sample_run() -> list[Trace]:
    """Two solutions on two workloads; one of the four results is wrong."""
    second = "22222222-bbbb-4bbb-8bbb-000000000002"
    flag = {"id": "jail_incomplete", "evidence": "landlock: the kernel lacks it"}
    failure = {"output": "y", "index": [3, 17], "expected": 0.125, "got": 0.5, "share_off": 0.25}
    return [
        _trace(flags=(flag,)),
        _trace(second, time_ms=2.0, reference_ms=3.0, t_sol_ms=1.0, score=0.667, flags=(flag,),
              axes={"batch": 64, "hidden": 4096}),
        _trace(solution="wrong", status="INCORRECT_NUMERICAL", failure=failure),
        _trace(second, solution="wrong", status="RUNTIME_ERROR", log="Traceback:\nValueError: no",
              axes={"batch": 64, "hidden": 4096}),
    ]  # fmt: skip
