"""Feedback on one workload, with rates worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from solbench.report import feedback, feedback_report
from solbench.spec import Trace

MakeTrace = Callable[..., Trace]
LOG = """kernels of one call, largest gap 2.00 us:
 60.0%      30.00 us    3 x  void at::native::vectorized<float>
 40.0%      20.00 us    1 x  mine
"""


def changed(trace: Trace, **record: Any) -> Trace:
    assert trace.solbench is not None
    return trace.model_copy(update={"solbench": trace.solbench.model_copy(update=record)})


def bound(**changes: Any) -> dict[str, Any]:
    return {
        "complete": True, "hardware": "h200", "clock_mhz": 1980.0, "matrix_flops": {},
        "dram_read_bytes": 900_000_000, "dram_write_bytes": 300_000_000, **changes,
    }  # fmt: skip


def test_rates_are_the_demand_over_the_time_and_shares_those_of_the_peak(
    make_trace: MakeTrace,
) -> None:
    # 0.5 ms: 1.2 GB is 2.4 TB/s of 4.8; 132 SMs x 4096 FLOPs x 1.98 GHz is 1070.5 TFLOP/s.
    trace = changed(make_trace(), bound=bound(matrix_flops={"bf16": 2e11}))
    found = feedback(trace)
    assert found.latency_ms == pytest.approx(0.5)
    assert found.dram_bytes_per_s == pytest.approx(2.4e12)
    assert found.dram_share == pytest.approx(0.5)
    assert found.matrix_flops_per_s == pytest.approx(4e14)
    assert found.matrix_share == pytest.approx(4e14 / (132 * 4096 * 1.98e9))


def test_a_cpu_has_rates_without_shares(make_trace: MakeTrace) -> None:
    found = feedback(changed(make_trace(), bound=bound(hardware="cpu")))
    assert found.dram_bytes_per_s == pytest.approx(2.4e12)
    assert found.dram_share is None


def test_without_a_complete_bound_there_are_no_rates(make_trace: MakeTrace) -> None:
    for none in (None, bound(complete=False)):
        assert feedback(changed(make_trace(), bound=none)).dram_bytes_per_s is None


def test_kernels_gaps_and_hints_come_from_the_advice(make_trace: MakeTrace) -> None:
    advice = {"kernels": 4, "busy_ms": 0.05, "log": LOG}
    found = feedback(changed(make_trace(), advice=advice))
    assert [(each.name, each.launches) for each in found.kernels] == [
        ("void at::native::vectorized<float>", 3), ("mine", 1),
    ]  # fmt: skip
    assert [each.share for each in found.kernels] == pytest.approx([0.6, 0.4])
    assert found.largest_gap_ms == pytest.approx(0.002)
    hints = " ".join(found.hints)
    assert "No kernel runs for 90% of the call" in hints
    assert "4 kernels a call" in hints
    assert "60% of kernel time is in library kernels" in hints


def test_the_hint_follows_the_distance(make_trace: MakeTrace) -> None:
    def last(attainable_ms: float, binding: str = "dram") -> str:
        trace = changed(make_trace(), t_attainable_ms=attainable_ms, binding=binding)
        return feedback(trace).hints[-1]

    assert last(0.45).startswith("Near what is attainable")
    assert last(0.2).startswith("Memory binds")
    assert last(0.2, "matrix").startswith("Matrix units bind")
    assert last(0.01).startswith("Far from any limit")


def test_a_wrong_output_is_told_with_its_place(sample_run: list[Trace]) -> None:
    found = feedback(sample_run[2])
    assert "expected 0.125, got 0.5" in found.wrong
    assert found.latency_ms is None
    assert found.hints == ("Right first: nothing is timed before the outputs match.",)


def test_the_page_fits_80_columns(sample_run: list[Trace], make_trace: MakeTrace) -> None:
    long = LOG.replace("mine", "kernel_" + "x" * 200)
    trace = changed(
        make_trace(), advice={"kernels": 4, "busy_ms": 0.05, "log": long}, bound=bound()
    )
    console = Console(width=80, force_terminal=False)
    with console.capture() as capture:
        console.print(feedback_report([*sample_run, trace]))
    text = capture.get()
    assert max(map(len, text.splitlines())) <= 80
    assert "2400 GB/s, 50% of peak" in text
    assert "largest gap 2.00 µs" in text
