"""The raw page of Nsight Compute, from text made after its form."""

from __future__ import annotations

import pytest

from solbench.judge.nsight import read_nsight

NAMES = [
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
    "Grid Size", "Device", "CC", "dram__bytes_read.sum", "dram__bytes_write.sum",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "gpu__time_duration.sum",
    "launch__registers_per_thread", "launch__shared_mem_per_block_dynamic",
    "launch__shared_mem_per_block_static", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
]  # fmt: skip
UNITS = [
    "", "", "", "", "", "", "", "", "", "", "", "byte", "byte", "%", "ns", "register/thread",
    "byte/block", "byte/block", "%", "%", "inst", "inst", "inst",
]  # fmt: skip
ROW = [
    "0", "4711", "python3", "127.0.0.1", "rms<float, 4>(float *, int)", "1", "7", "(256, 1, 1)",
    "(64, 2, 1)", "0", "9.0", "2,097,152", "1,048,576", "61.5", "12,800", "40", "1,024", "512",
    "22.5", "48", "1", "6", "1",
]  # fmt: skip


def line(cells: list[str]) -> str:
    return ",".join(f'"{cell}"' for cell in cells)


def page(*rows: list[str], names: list[str] = NAMES, units: list[str] = UNITS) -> str:
    notes = "==PROF== Connected to process 4711\nwhatever the program printed\n"
    return notes + "\n".join(map(line, [names, units, *rows])) + "\n"


def test_a_kernel_is_read_with_its_counters() -> None:
    (kernel,) = read_nsight(page(ROW))
    assert kernel.name == "rms<float, 4>(float *, int)"
    assert (kernel.grid, kernel.block) == ((64, 2, 1), (256, 1, 1))
    assert kernel.duration_ms == pytest.approx(0.0128)
    assert (kernel.dram_read_bytes, kernel.dram_write_bytes) == (2097152, 1048576)
    assert kernel.dram_share == pytest.approx(0.615)
    assert kernel.sm_share == pytest.approx(0.225)
    assert kernel.occupancy == pytest.approx(0.48)
    assert (kernel.registers, kernel.shared_bytes) == (40, 1536)
    # Of the 8 cycles between two instructions, 6 wait for memory; one is the instruction's own.
    assert (kernel.stall, kernel.stall_share) == ("long_scoreboard", pytest.approx(0.75))


def test_units_are_those_of_the_page() -> None:
    units = ["us" if unit == "ns" else "Mbyte" if unit == "byte" else unit for unit in UNITS]
    row = ["12.8" if cell == "12,800" else "2" if cell == "2,097,152" else cell for cell in ROW]
    (kernel,) = read_nsight(page(row, units=units))
    assert kernel.duration_ms == pytest.approx(0.0128)
    assert kernel.dram_read_bytes == 2e6


def test_what_the_page_does_not_have_is_left_out() -> None:
    few = [name for name in NAMES if "__" not in name]
    (kernel,) = read_nsight(page(ROW[: len(few)], names=few, units=UNITS[: len(few)]))
    assert kernel.duration_ms is None
    assert kernel.dram_share is None
    assert (kernel.stall, kernel.stall_share) == ("", None)
    odd = ["furlong" if unit == "ns" else unit for unit in UNITS]
    assert read_nsight(page(ROW, units=odd))[0].duration_ms is None
    unknown = ["n/a" if cell == "61.5" else cell for cell in ROW]
    assert read_nsight(page(unknown))[0].dram_share is None


def test_every_launch_is_a_row_and_torn_rows_are_none() -> None:
    assert len(read_nsight(page(ROW, ROW, ROW[:5]))) == 2
    assert read_nsight("==ERROR== ERR_NVGPUCTRPERM - no permission\n") == ()
    assert read_nsight(page()) == ()
