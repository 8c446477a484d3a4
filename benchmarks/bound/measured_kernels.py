"""Kernels of torch and its libraries against their bounds, on the card at hand, cold caches.

    PYTHONPATH=src python3 benchmarks/bound/measured_kernels.py            # all, about two minutes
    PYTHONPATH=src python3 benchmarks/bound/measured_kernels.py matmul     # one family
    python benchmarks/bound/measured_kernels.py --again RECORD             # no GPU: its times, bounds anew

A kernel's time is the median of 20 event pairs, each after a flush that leaves the cache full of clean
lines; the least of them must not be below T_SOL. Event pairs read some microseconds too long, never too
short. Causes of gaps above 1.5 come from the profiler (what ran, and how fast) and from the card's clock.
With ``--again`` random indices are drawn on the CPU: as many and as wide, but not those that were measured.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "benchmarks/bound"), str(ROOT / "src")]
import torch  # noqa: E402
from _cuda_clock import Flush, event_ms  # noqa: E402
from _kernel_rows import HEADING, Measured, bound_of, line, row_of, sums  # noqa: E402
from _kernels import Case, cases  # noqa: E402
from _kernels_again import again  # noqa: E402
from _record import record  # noqa: E402

from solbench.hardware import Hardware, detect_hardware, load_hardware  # noqa: E402
from solbench.judge._monitor_nvml import NvmlMonitor, Reading  # noqa: E402

SAMPLES = 20
KERNELS_NAMED = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument(
        "--again", type=Path, metavar="RECORD", help="take the times of an earlier run"
    )
    options = parser.parse_args()
    if options.again:
        print(HEADING)
        origin, rows = again(options.again, options.families)
        record("bound-measured-kernels", origin | sums(rows))
    elif torch.cuda.is_available():
        hardware = load_hardware(detect_hardware(options.device) or "h200")
        rows = measured_rows(options.families, options.device, hardware)
        record("bound-measured-kernels", {"hardware": hardware.name} | sums(rows))
    else:
        print(
            "no CUDA device here: nothing measured; --again RECORD compares the times of an earlier run"
        )


def measured_rows(families: list[str], device: str, hardware: Hardware) -> list[dict[str, Any]]:
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    flush = Flush(device, hardware.l2_bytes)
    monitor = NvmlMonitor(pci_bus_id(device))
    print(HEADING)
    rows = []
    for case in cases():
        if not families or case.family in families:
            rows.append(measured_row(case, hardware, device, flush, monitor))
            print(line(rows[-1]))
    return rows


def pci_bus_id(device: str) -> str:
    found = torch.cuda.get_device_properties(device)
    return f"{found.pci_domain_id:08x}:{found.pci_bus_id:02x}:{found.pci_device_id:02x}.0"


def measured_row(
    case: Case, hardware: Hardware, device: str, flush: Flush, monitor: NvmlMonitor
) -> dict[str, Any]:
    """One row; a case that cannot run here becomes a row that says so."""
    torch.backends.cuda.matmul.allow_tf32 = case.matrix_class == "tf32"
    try:
        args = [arg.make(device) for arg in case.args]
        demand, priced = bound_of(case, args, hardware)
        measured = times_of(lambda: case.function(*args), flush, monitor)
    except Exception as error:  # noqa: BLE001 - a measurement run reports every failure and goes on
        why = f"{type(error).__name__}: {error}"
        return {"family": case.family, "kernel": case.name, "error": why[:400]}
    finally:
        torch.cuda.empty_cache()
    return row_of(case, demand, priced, measured, hardware)


def times_of(run: Callable[[], Any], flush: Flush, monitor: NvmlMonitor) -> Measured:
    times_us, readings = event_times(run, flush, monitor)
    kernels = profiled(run, flush)
    return Measured(
        least_us=min(times_us),
        median_us=statistics.median(times_us),
        kernels=tuple(kernels[:KERNELS_NAMED]),
        kernel_count=len(kernels),
        kernel_us=sum(us for _, us in kernels),
        sm_clock_mhz=statistics.median(reading.sm_clock_mhz for reading in readings),
        power_capped=any(reading.power_capped for reading in readings),
    )


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


if __name__ == "__main__":
    main()
