"""The worker's tables of kernels and operations, from what a profiler gives."""

from __future__ import annotations

from typing import Any

from solbench.jail._profile import (
    Kernel,
    after_mark,
    busy_us,
    kernel_table,
    kernels_of,
    operation_table,
)

EVENTS = [
    Kernel(10.0, 14.0, "matmul", "grid 8x4x1 block 256x1x1 regs 32 smem 512 occ 50"),
    Kernel(12.0, 15.0, "copy"),  # on another stream, one of its microseconds alone
    Kernel(20.0, 21.0, "add"),
    Kernel(21.5, 22.5, "add"),
]


def event(category: str, start: float, took: float, name: str, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "ts": start, "dur": took, "name": name, "args": args}


def test_time_in_which_two_kernels_run_counts_once() -> None:
    assert busy_us(EVENTS) == 7.0
    assert busy_us(list(reversed(EVENTS))) == 7.0
    assert busy_us([]) == 0.0


def test_kernels_are_summed_by_name_and_ranked() -> None:
    heading, *lines = kernel_table(EVENTS).splitlines()
    assert "largest gap 5.00 us, in all 5.50 us" in heading
    # 4 + 3 + 2 us in all
    assert [line.split()[0] for line in lines] == ["44.4%", "33.3%", "22.2%"]
    assert lines[0].endswith("[grid 8x4x1 block 256x1x1 regs 32 smem 512 occ 50] matmul")
    assert "2 x  [] add" in lines[2]


def test_launches_of_other_shapes_have_rows_of_their_own() -> None:
    two = [Kernel(0.0, 1.0, "add", "grid 1x1x1"), Kernel(1.0, 2.0, "add", "grid 2x1x1")]
    assert len(kernel_table(two).splitlines()) == 3


def test_a_call_without_kernels_has_an_empty_table() -> None:
    assert len(kernel_table([]).splitlines()) == 1


def test_a_trace_gives_kernels_in_order_with_their_launches() -> None:
    launch = {
        "grid": [8, 1, 1], "block": [128, 2, 1], "registers per thread": 40, "shared memory": 0,
        "est. achieved occupancy %": 75, "stream": 7,
    }  # fmt: skip
    trace = [
        {"ph": "M", "name": "process_name"},
        event("cuda_runtime", 1.0, 2.0, "cudaLaunchKernel"),
        event("kernel", 9.0, 2.5, "second"),
        event("kernel", 5.0, 1.5, "first", **launch),
        event("gpu_memset", 8.0, 0.5, "Memset (Device)", bytes=4),
    ]
    first, memset, second = kernels_of(trace)
    assert first == Kernel(5.0, 6.5, "first", "grid 8x1x1 block 128x2x1 regs 40 smem 0 occ 75")
    assert (memset.name, memset.shape) == ("Memset (Device)", "")
    assert (second.start_us, second.end_us) == (9.0, 11.5)


def test_what_ran_before_the_pause_is_not_the_calls() -> None:
    flush, pause, own = (
        Kernel(start, start + 1.0, name)
        for start, name in ((0.0, "fill"), (2.0, "spin_kernel(long)"), (4.0, "own"))
    )
    assert after_mark([flush, pause, own]) == [own]
    assert after_mark([flush, own]) == [flush, own]


def test_operations_are_ranked_by_their_own_time() -> None:
    heading, *lines = operation_table(
        [("aten::to", 5.0, 1, 0), ("aten::mm", 60.0, 2, 4096)], 100.0
    ).splitlines()
    assert heading == "operations of one call of 100.00 us, 35.00 us outside them:"
    assert lines == [
        " 60.0%      60.00 us    2 x  [4096 B] aten::mm",
        "  5.0%       5.00 us    1 x  [0 B] aten::to",
    ]
