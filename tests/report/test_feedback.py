"""Feedback on one workload, with rates worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from rich.console import Console

from solbench.judge.guard import Launch
from solbench.judge.guard._tables import NO_LAUNCH
from solbench.judge.nsight import NsightKernel
from solbench.report import feedback, feedback_report, html_page
from solbench.report._feedback_text import profile_text
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


def test_a_cpu_has_the_share_of_what_binds(make_trace: MakeTrace) -> None:
    # T_SOL is 0.1 ms of 0.5; the other peak is not in the trace.
    made = changed(make_trace(), bound=bound(hardware="cpu", matrix_flops={"fp32": 2e11}))
    found = feedback(made)
    assert found.dram_bytes_per_s == pytest.approx(2.4e12)
    assert (found.dram_share, found.matrix_share) == (None, pytest.approx(0.2))
    found = feedback(changed(made, binding="dram"))
    assert (found.dram_share, found.matrix_share) == (pytest.approx(0.2), None)


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


def test_a_launch_is_read_from_the_table(make_trace: MakeTrace) -> None:
    log = LOG.replace("x  mine", "x  [grid 64x2x1 block 256x1x1 regs 40 smem 1536 occ 48] mine")
    log = log.replace("gap 2.00 us:", "gap 2.00 us, in all 50.00 us:")
    found = feedback(changed(make_trace(), advice={"kernels": 4, "busy_ms": 0.05, "log": log}))
    assert found.kernels[0].launch == NO_LAUNCH
    assert found.kernels[1].name == "mine"
    assert found.kernels[1].launch == Launch((64, 2, 1), (256, 1, 1), 40, 1536, 0.48)
    assert found.gaps_ms == pytest.approx(0.05)
    # 50 us of kernels and as much between them, whatever the whole call takes when it is cold
    assert "No kernel runs for 50% of the call" in found.hints[0]


def test_operations_of_a_cpu_are_shares_of_the_call(make_trace: MakeTrace) -> None:
    log = (
        "operations of one call of 200.00 us, 120.00 us outside them:\n"
        " 30.0%      60.00 us    9 x  [4096 B] aten::copy_\n"
        " 10.0%      20.00 us    1 x  [-4096 B] aten::mul\n"
    )
    advice = {"kernels": 0, "busy_ms": 0.0, "log": log}
    found = feedback(changed(make_trace(), advice=advice))
    assert [each.name for each in found.operations] == ["aten::copy_", "aten::mul"]
    assert [each.share for each in found.operations] == pytest.approx([0.3, 0.1])
    assert [each.taken_bytes for each in found.operations] == [4096, -4096]
    assert found.outside_share == pytest.approx(0.6)
    assert found.busy_ms is None
    assert found.hints[0].startswith("60% of the call is outside PyTorch's operations")
    assert found.hints[1].startswith("10 operations a call")


def test_counters_say_what_moves_twice_and_what_warps_wait_for(make_trace: MakeTrace) -> None:
    kernel = NsightKernel(
        "mine", (8,), (128,), 0.4, 2.0e9, 0.4e9, 0.3, 0.2, 0.12, 40, 0, "long_scoreboard", 0.6
    )
    advice = {"kernels": 0, "busy_ms": 0.0, "log": "", "nsight": [asdict(kernel)]}
    trace = changed(make_trace(), advice=advice, bound=bound())
    found = feedback(trace)
    assert found.nsight == (kernel,)
    assert found.nsight_dram_bytes == 2.4e9  # of 1.2e9 demanded
    assert found.hints[0].startswith("Memory moves 2.0 times the bytes")
    assert "warps wait for long_scoreboard, and few are resident (12%)" in found.hints[1]
    text = profile_text(trace)
    assert "long scoreboard" in text
    assert "400 µs" in text
    assert text in html_page([trace]).replace("&#39;", "'").replace("&lt;", "<")


def test_the_hint_follows_the_distance(make_trace: MakeTrace) -> None:
    def last(attainable_ms: float, binding: str = "dram") -> str:
        trace = changed(make_trace(), t_attainable_ms=attainable_ms, binding=binding)
        return feedback(trace).hints[-1]

    assert last(0.45).startswith("Near what is attainable")
    assert last(0.2).startswith("Memory binds")
    assert last(0.2, "matrix").startswith("Matrix units bind")
    assert last(0.01).startswith("Far from any limit")


def test_a_time_that_the_clock_cannot_see_is_not_called_near_the_limit(
    make_trace: MakeTrace,
) -> None:
    trace = make_trace()
    assert trace.solbench is not None
    assert trace.solbench.timing is not None
    nothing = trace.solbench.timing.model_copy(update={"median_ms": 0.0})
    found = feedback(changed(trace, timing=nothing))
    assert (found.times_sol, found.times_attainable) == (None, None)
    assert found.hints == (
        "Too short for this clock: no distance can be told; larger workloads tell more.",
    )


def test_a_time_below_the_bound_is_no_advice_to_stop(make_trace: MakeTrace) -> None:
    assert feedback(make_trace(time_ms=0.05)).hints[-1].startswith("Below the bound")  # of 0.1 ms


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


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        ("INCORRECT_NUMERICAL", "Right first"),
        ("COMPILE_ERROR", "does not build"),
        ("TIMEOUT", "does not end"),
        ("INVALID_REFERENCE", "No fault of the solution"),
    ],
)
def test_the_hint_of_a_failure_fits_its_kind(
    make_trace: Callable[..., Trace], status: str, hint: str
) -> None:
    (said,) = feedback(make_trace(status=status)).hints
    assert hint in said
