"""The same kernels by other means: Nsight Compute, and a plain benchmark loop in one process.

Run as a script under the profiler, this file is what is profiled.
"""

from __future__ import annotations

import csv
import io
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from _kernels import KERNELS, Kernel  # noqa: E402

_PROFILED_CALLS = 4
_QUEUED = "queued"
_QUEUE = 48
_QUEUE_BYTES = 8 << 30
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


def profiled_us(
    kernels: Sequence[Kernel], *, queued: bool = False, timeout_s: float = 70.0
) -> dict[str, float]:
    """Name → duration of one call by Nsight Compute.

    Its own habit is to flush the caches before every kernel. ``queued``: it leaves them alone, and each call
    comes behind many on other buffers, as in a queue of the judge's: cold inputs, and a cache full of what they
    wrote.
    """
    command = [
        "ncu",
        "--clock-control",
        "none",
        "--cache-control",
        "none" if queued else "all",
        "--profile-from-start",
        "off",
        "--csv",
        "--page",
        "raw",
    ]
    command += ["--print-units", "base", "--metrics", _METRIC, sys.executable, __file__]
    command += [_QUEUED] if queued else []
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

    torch.cuda._sleep(1)  # type: ignore[no-untyped-call]
    profile = _profile_queued if _QUEUED in sys.argv else _profile_alone
    for kernel in KERNELS:
        profile(kernel)
    torch.cuda.synchronize()


def _profile_alone(kernel: Kernel) -> None:
    run, (x, y) = kernel.operation(), kernel.tensors("cuda")
    run(x, y)
    with _profiler():
        for _ in range(_PROFILED_CALLS):
            run(x, y)


def _profile_queued(kernel: Kernel) -> None:
    """The last calls of a queue on as many buffers, all cold at its start."""
    import torch
    from _cuda_clock import Flush

    run = kernel.operation()
    buffers = [kernel.tensors("cuda") for _ in range(slots_of(kernel))]
    run(*buffers[-1])
    Flush("cuda", torch.cuda.get_device_properties(0).L2_cache_size)()
    for x, y in buffers[:-_PROFILED_CALLS]:
        run(x, y)
    with _profiler():
        for x, y in buffers[-_PROFILED_CALLS:]:
            run(x, y)


def slots_of(kernel: Kernel) -> int:
    """As many buffers as the judge queues calls, or as many as fit."""
    return max(_PROFILED_CALLS + 1, min(_QUEUE, _QUEUE_BYTES // kernel.moved_bytes))


@contextmanager
def _profiler() -> Iterator[None]:
    """A mark, then what is within, profiled."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    torch.cuda._sleep(1)  # type: ignore[no-untyped-call]
    yield
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


if __name__ == "__main__":
    main()
