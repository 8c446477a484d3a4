"""Rich renderables of devices and calibrations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._grid import grid, pairs

if TYPE_CHECKING:
    from solbench.hardware import Calibration, Hardware


def hardware_table(devices: Sequence[Hardware]) -> Table:
    """One row a device: DRAM in TB/s, dense rates in TFLOP/s at the default clock, L2 in MiB."""
    figures = ("MHz", "DRAM\nTB/s", "bf16\nTFLOP/s", "fp8\nTFLOP/s", "fp32\nTFLOP/s", "L2\nMiB")
    table = grid("name", *figures, numbers=figures)
    for device in devices:
        clock_mhz = device.clock_mhz()
        table.add_row(
            device.name,
            f"{clock_mhz:.0f}",
            fmt.significant(device.dram_bytes_per_s / 1e12),
            *(_teraflops(device, precision, clock_mhz) for precision in ("bf16", "fp8", "fp32")),
            fmt.significant(device.l2_bytes / (1 << 20)),
        )
    return table


def _classes(device: Hardware) -> dict[str, float]:
    return {**device.matrix_flops_per_sm_per_clk, **device.simt_flops_per_sm_per_clk}


def _teraflops(device: Hardware, precision: str, clock_mhz: float) -> str:
    if precision not in _classes(device):
        return fmt.ABSENT
    return fmt.significant(device.flops_per_s(precision, clock_mhz) / 1e12)


def hardware_report(device: Hardware) -> Group:
    """Every number of a device, then where each comes from."""
    clock_mhz = device.clock_mhz()
    title = Text.assemble((device.title, "bold"), f" ({device.name})")
    if device.calibrated:
        title.append("   measured here: T_SOL is an estimate, no strict bound", style="yellow")
    table = pairs()
    table.add_row("SMs or cores", str(device.sm_count))
    clocks = ", ".join(f"{name} {mhz:.0f}" for name, mhz in device.clocks_mhz.items())
    table.add_row("clocks", f"{clocks} MHz; default {device.default_clock}")
    table.add_row("DRAM", fmt.amount(device.dram_bytes_per_s, "B/s"))
    table.add_row("L2", f"{fmt.size(device.l2_bytes)}, {fmt.amount(device.l2_bytes_per_s, 'B/s')}")
    table.add_row("launch floor", f"{fmt.significant(device.launch_floor_us)} µs")
    for precision in _classes(device):
        rate = fmt.amount(device.flops_per_s(precision, clock_mhz), "FLOP/s")
        table.add_row(f"{precision} at {clock_mhz:.0f} MHz", rate)
    sources = [Text(f"{key}: {text}", style="dim") for key, text in device.sources.items()]
    return Group(title, table, *sources)


def calibration_report(measured: Calibration) -> Group:
    """What ``solbench calibrate`` found."""
    threads = f", {measured.threads} threads" if measured.threads else ""
    title = Text.assemble((measured.title, "bold"), f"   torch {measured.torch}{threads}")
    table = pairs()
    for name in ("copy", "read", "write"):
        rate = getattr(measured, f"{name}_bytes_per_s")
        table.add_row(name, fmt.amount(rate, "B/s"))
    for precision, rate in measured.matmul_flops_per_s.items():
        table.add_row(f"matmul {precision}", fmt.amount(rate, "FLOP/s"))
    table.add_row("last cache", f"{fmt.size(measured.l2_bytes)}")
    table.add_row("call floor", f"{fmt.significant(measured.launch_floor_us)} µs")
    table.add_row("took", f"{fmt.significant(measured.seconds)} s")
    return Group(title, table)
