"""The worker's table of kernels, from events as a profiler gives them: start and end in us, and name."""

from __future__ import annotations

from solbench.jail.worker_cuda import busy_us, kernel_table

EVENTS = [
    (10.0, 14.0, "matmul"),
    (12.0, 15.0, "copy"),  # on another stream, one of its microseconds alone
    (20.0, 21.0, "add"),
    (21.5, 22.5, "add"),
]


def test_time_in_which_two_kernels_run_counts_once():
    assert busy_us(EVENTS) == 7.0
    assert busy_us(list(reversed(EVENTS))) == 7.0
    assert busy_us([]) == 0.0


def test_kernels_are_summed_by_name_and_ranked():
    heading, *lines = kernel_table(EVENTS).splitlines()
    assert "largest gap 5.00 us" in heading
    # 4 + 3 + 2 us in all
    assert [line.split()[0] for line in lines] == ["44.4%", "33.3%", "22.2%"]
    assert lines[0].endswith("matmul")
    assert "2 x  add" in lines[2]


def test_a_call_without_kernels_has_an_empty_table():
    assert len(kernel_table([]).splitlines()) == 1
