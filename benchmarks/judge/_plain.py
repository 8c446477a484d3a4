"""The same kernels by other means: Nsight Compute, and a plain benchmark loop in one process.

Run as a script under the profiler, this file is what is profiled.
"""

from __future__ import annotations

import csv
import io
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _kernels import KERNELS, Kernel

_PROFILED_CALLS = 4
_PLAIN_CALLS = 30
_METRIC = "gpu__time_duration.sum"
_MARK = "spin_kernel"
"""The kernel of ``torch.cuda._sleep``; it parts the calls of one kernel from those of the next."""


def plain_us(kernel: Kernel, device: str, l2_bytes: int) -> float:
    """Events around each call, zeros over twice the second-level cache before it, outputs never looked at."""
    import torch

    run, (x, y) = kernel.operation(), kernel.tensors(device)
    flush = torch.empty(2 * l2_bytes, dtype=torch.uint8, device=device)
    times = []
    for _ in range(_PLAIN_CALLS + 3):
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        began.record()
        run(x, y)
        ended.record()
        torch.cuda.synchronize()
        times.append(1e3 * began.elapsed_time(ended))
    return statistics.median(times[3:])


def profiled_us(kernels: Sequence[Kernel], timeout_s: float = 70.0) -> dict[str, float]:
    """Name → duration of one call by Nsight Compute, caches flushed by it before every kernel."""
    command = [
        "ncu",
        "--clock-control",
        "none",
        "--profile-from-start",
        "off",
        "--csv",
        "--page",
        "raw",
    ]
    command += ["--print-units", "base", "--metrics", _METRIC, sys.executable, __file__]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if not lines:
        raise RuntimeError(f"ncu said nothing: {(done.stderr or done.stdout)[-500:]}")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]  # the first row holds units
    return {
        kernel.name: statistics.median(_calls(durations)[1:])
        for kernel, durations in zip(kernels, _parts(rows), strict=True)
    }


def _parts(rows: list[dict[str, Any]]) -> list[list[float]]:
    """Durations in us between two marks."""
    parts: list[list[float]] = []
    for row in rows:
        if _MARK in row["Kernel Name"]:
            parts.append([])
        else:
            parts[-1].append(float(row[_METRIC].replace(",", "")) / 1e3)
    return parts


def _calls(durations: list[float]) -> list[float]:
    """A call may be several kernels."""
    size = len(durations) // _PROFILED_CALLS
    return [sum(durations[start : start + size]) for start in range(0, len(durations), size)]


def main() -> None:
    import torch

    made = [(kernel.operation(), *kernel.tensors("cuda")) for kernel in KERNELS]
    for run, x, y in made:
        run(x, y)
    torch.cuda._sleep(1)  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    for run, x, y in made:
        torch.cuda._sleep(1)  # type: ignore[no-untyped-call]
        for _ in range(_PROFILED_CALLS):
            run(x, y)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


if __name__ == "__main__":
    main()
