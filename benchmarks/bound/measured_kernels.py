"""Kernels of torch and its libraries against their bounds, on the card at hand, cold caches.

    PYTHONPATH=src python3 benchmarks/bound/measured_kernels.py            # all, about two minutes
    PYTHONPATH=src python3 benchmarks/bound/measured_kernels.py matmul     # one family

A kernel's time is the median of 20 event pairs, each after a flush that leaves the cache full of clean
lines; the least of them must not be below T_SOL. Event pairs read some microseconds too long, never too
short. Causes of gaps above 1.5 come from the profiler (what ran, and how fast) and from the card's clock.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "benchmarks/bound"), str(ROOT / "src")]
import torch  # noqa: E402
from _cuda_clock import Flush, event_ms  # noqa: E402
from _kernels import Case, cases  # noqa: E402
from _record import record  # noqa: E402

from solbench.bound import Demand, Priced, analyse, capture, function_program, price  # noqa: E402
from solbench.hardware import Hardware, detect_hardware, load_hardware  # noqa: E402
from solbench.judge._monitor_nvml import NvmlMonitor, Reading  # noqa: E402

SAMPLES = 20
GAP = 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*")
    parser.add_argument("--device", default="cuda:0")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing measured")
        return
    hardware = load_hardware(detect_hardware(options.device) or "h200")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    flush = Flush(options.device, hardware.l2_bytes)
    monitor = NvmlMonitor(pci_bus_id(options.device))
    chosen = [c for c in cases() if not options.families or c.family in options.families]
    print(
        f"{'family':12}{'kernel':36}{'T_SOL us':>10}{'least us':>10}{'median':>10}{'x':>7}  cause"
    )
    rows = [measured(case, hardware, options.device, flush, monitor) for case in chosen]
    good = [row for row in rows if "error" not in row]
    below = [row["kernel"] for row in good if row["least_us"] < row["t_sol_us"]]
    record(
        "bound-measured-kernels",
        {
            "hardware": hardware.name,
            "kernels": len(good),
            "failed": len(rows) - len(good),
            "below_t_sol": len(below),
            "below": below,
            "median_ratio": statistics.median(row["ratio"] for row in good),
            "gaps_above_1_5": sum(row["ratio"] > GAP for row in good),
            "rows": rows,
        },
    )


def pci_bus_id(device: str) -> str:
    found = torch.cuda.get_device_properties(device)
    return f"{found.pci_domain_id:08x}:{found.pci_bus_id:02x}:{found.pci_device_id:02x}.0"


def measured(
    case: Case, hardware: Hardware, device: str, flush: Flush, monitor: NvmlMonitor
) -> dict[str, Any]:
    """One row; a case that cannot run here becomes a row that says so."""
    torch.backends.cuda.matmul.allow_tf32 = case.matrix_class == "tf32"
    try:
        args = [arg.make(device) for arg in case.args]
        demand, priced = bound_of(case, args, hardware)
        run = lambda: case.function(*args)  # noqa: E731
        times_us, readings = event_times(run, flush, monitor)
        kernels = profiled(run, flush)
    except Exception as error:  # noqa: BLE001 - a measurement run reports every failure and goes on
        print(f"{case.family:12}{case.name:36} {type(error).__name__}: {str(error)[:120]}")
        return {"family": case.family, "kernel": case.name, "error": str(error)[:400]}
    finally:
        torch.cuda.empty_cache()
    row = row_of(case, demand, priced, times_us, kernels)
    row["sm_clock_mhz"] = statistics.median(reading.sm_clock_mhz for reading in readings)
    row["power_capped"] = any(reading.power_capped for reading in readings)
    row["cause"] = cause(row, hardware) if row["ratio"] > GAP else ""
    print(
        f"{case.family:12}{case.name:36}{row['t_sol_us']:10.1f}{row['least_us']:10.1f}"
        f"{row['median_us']:10.1f}{row['ratio']:7.2f}  {row['cause'][:90]}"
    )
    return row


def bound_of(case: Case, args: list[torch.Tensor], hardware: Hardware) -> tuple[Demand, Priced]:
    graph, rung = capture(function_program(case.function, args, name=case.name))
    demand = analyse(graph, rung)
    if demand.unknown_ops:
        raise ValueError(f"no rule for {', '.join(demand.unknown_ops)}")
    if case.matrix_class:
        flops = {case.matrix_class: sum(demand.matrix_flops.values())}
        demand = replace(demand, matrix_flops=flops, mixed_flops={})
    return demand, price(demand, hardware, hardware.clock_mhz())


def event_times(
    run: Callable[[], Any], flush: Flush, monitor: NvmlMonitor
) -> tuple[list[float], list[Reading]]:
    """Microseconds of each sample, and what the card said while it ran."""
    for _ in range(3):
        run()
    times_us, readings = [], []
    for _ in range(SAMPLES):
        flush()
        times_us.append(1e3 * event_ms(run, lambda: readings.append(monitor.read())))
    return times_us, readings


def profiled(run: Callable[[], Any], flush: Flush) -> list[tuple[str, float]]:
    """Name and microseconds of every kernel of one cold call."""
    flush()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        run()
        torch.cuda.synchronize()
    return [
        (event.name[:90], event.device_time_total)
        for event in profile.events()
        if event.device_type == torch.autograd.DeviceType.CUDA and event.device_time_total > 0
    ]


def row_of(
    case: Case,
    demand: Demand,
    priced: Priced,
    times_us: list[float],
    kernels: list[tuple[str, float]],
) -> dict[str, Any]:
    median_us = statistics.median(times_us)
    t_sol_us = 1e3 * priced.t_sol_ms
    return {
        "family": case.family,
        "kernel": case.name,
        "t_sol_us": t_sol_us,
        "t_floor_us": 1e3 * priced.t_floor_ms,
        "t_attainable_us": 1e3 * priced.t_attainable_ms,
        "binding": priced.binding,
        "least_us": min(times_us),
        "median_us": median_us,
        "ratio": median_us / t_sol_us,
        "dram_bytes": demand.dram_read_bytes + demand.dram_write_bytes,
        "matrix_flops": sum(demand.matrix_flops.values()),
        "kernels": [{"name": name, "us": us} for name, us in kernels[:6]],
        "kernel_count": len(kernels),
        "kernel_us": sum(us for _, us in kernels),
    }


def cause(row: dict[str, Any], hardware: Hardware) -> str:
    """Time between kernels, several kernels, a clock below the bound's, or a kernel short of its peak."""
    found = []
    idle = row["median_us"] - row["kernel_us"]
    if idle > 0.25 * row["median_us"]:
        found.append(f"{idle:.1f} us of it is the event pair and gaps, not kernels")
    longest = max(
        row["kernels"], key=lambda kernel: kernel["us"], default={"name": "none", "us": 0.0}
    )
    share = longest["us"] / row["kernel_us"] if row["kernel_us"] else 0.0
    if share < 0.95:
        found.append(f"{row['kernel_count']} kernels, the longest {share:.0%}")
    clock = hardware.clock_mhz()
    if row["binding"] == "matrix" and row["sm_clock_mhz"] < 0.95 * clock:
        why = " (power cap)" if row["power_capped"] else ""
        found.append(f"SM clock {row['sm_clock_mhz']:.0f} of {clock:.0f} MHz{why}")
    if share >= 0.95:
        peak = row["t_sol_us"] / row["kernel_us"]
        found.append(f"one kernel at {peak:.0%} of the {row['binding']} peak")
    return "; ".join(found) + f": {longest['name'][:60]}"


if __name__ == "__main__":
    main()
