"""One call under PyTorch's profiler, as a table in the worker's log. Advice: it comes from untrusted territory.

The judge's side reads the table with ``solbench.judge.guard.read_profile``.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

_SHOWN = 12
_SHOWN_NAME = 70
_GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
_MARK = "spin_kernel"
"""The kernel of ``torch.cuda._sleep``: what comes before it is not the call's."""
_MARK_CYCLES = 4_000_000
"""About 2 ms, in which the host enqueues the call: gaps are then the device's, not the host's."""
_TRACE_FILE = "profile.json"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One activity of a GPU."""

    start_us: float
    end_us: float
    name: str
    shape: str = ""
    """How it was launched, in words."""


def profile_gpu(call: Callable[[], object], device: torch.device) -> list[Kernel]:
    """The kernels of one call, enqueued behind a pause and with its data out of the second-level cache."""
    # Not before it is asked for: it takes seconds, and CUPTI stays attached to the process.
    from torch.profiler import ProfilerActivity, profile

    l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
    dirty = torch.empty(2 * l2_bytes, dtype=torch.uint8, device=device)
    clean = torch.ones(l2_bytes // 4, device=device)
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
        dirty.zero_()
        clean.amax()
        torch.cuda._sleep(_MARK_CYCLES)  # type: ignore[no-untyped-call]
        call()
        torch.cuda.synchronize(device)
    return after_mark(kernels_of(_trace_events(profiler)))


def _trace_events(profiler: Any) -> list[dict[str, Any]]:
    """The trace knows launch shapes; the profiler's own events do not."""
    file = Path(_TRACE_FILE)
    profiler.export_chrome_trace(str(file))
    events: list[dict[str, Any]] = json.loads(file.read_bytes())["traceEvents"]
    file.unlink()
    return events


def kernels_of(events: Iterable[dict[str, Any]]) -> list[Kernel]:
    """The GPU's activities among the events of a trace, in order of their start."""
    found = [
        Kernel(
            float(event["ts"]),
            float(event["ts"]) + float(event["dur"]),
            str(event["name"]),
            _shape(event.get("args", {})) if event["cat"] == "kernel" else "",
        )
        for event in events
        if event.get("ph") == "X" and event.get("cat") in _GPU_CATEGORIES
    ]
    return sorted(found, key=lambda each: each.start_us)


def _shape(arguments: dict[str, Any]) -> str:
    """What the trace says of the launch; parts that it leaves out are left out."""
    parts = []
    for word, key in (("grid", "grid"), ("block", "block")):
        if key in arguments:
            parts.append(f"{word} {'x'.join(str(int(each)) for each in arguments[key])}")
    for word, key in (
        ("regs", "registers per thread"),
        ("smem", "shared memory"),
        ("occ", "est. achieved occupancy %"),
    ):
        if key in arguments:
            parts.append(f"{word} {int(arguments[key])}")
    return " ".join(parts)


def after_mark(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Those after the pause; all if there is none."""
    marks = [place for place, each in enumerate(kernels) if _MARK in each.name]
    return list(kernels[marks[0] + 1 :] if marks else kernels)


def busy_us(kernels: Sequence[Kernel]) -> float:
    """Time in which any of them ran."""
    busy, reached = 0.0, float("-inf")
    for each in sorted(kernels, key=lambda each: each.start_us):
        busy += max(0.0, each.end_us - max(each.start_us, reached))
        reached = max(reached, each.end_us)
    return busy


def kernel_table(kernels: Sequence[Kernel]) -> str:
    """The longest kernels of a call by name and launch, and the gaps between them."""
    times: dict[tuple[str, str], list[float]] = {}
    for each in kernels:
        times.setdefault((each.name, each.shape), []).append(each.end_us - each.start_us)
    total = sum(map(sum, times.values())) or 1.0
    ranked = sorted(times.items(), key=lambda item: -sum(item[1]))[:_SHOWN]
    lines = [
        f"{sum(took) / total:6.1%} {sum(took):10.2f} us {len(took):4} x  "
        f"[{shape}] {name[:_SHOWN_NAME]}"
        for (name, shape), took in ranked
    ]
    gaps = list(_gaps_us(kernels))
    heading = f"kernels of one call, largest gap {max(gaps, default=0.0):.2f} us, in all {sum(gaps):.2f} us:"
    return "\n".join([heading, *lines])


def _gaps_us(kernels: Sequence[Kernel]) -> Iterable[float]:
    """Times between the first start and the last end in which nothing runs."""
    ordered = sorted(kernels, key=lambda each: each.start_us)
    ends = itertools.accumulate((each.end_us for each in ordered), max)
    for reached, later in zip(ends, ordered[1:], strict=False):
        yield max(0.0, later.start_us - reached)


def profile_cpu(call: Callable[[], object]) -> str:
    """A table of the operations of one call. PyTorch's alone: what other code does shows as time outside."""
    from torch.profiler import ProfilerActivity, profile

    with profile(
        activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True
    ) as profiler:
        began = time.perf_counter_ns()
        call()
        took_us = (time.perf_counter_ns() - began) / 1e3
    rows = [
        (row.key, row.self_cpu_time_total, row.count, row.self_cpu_memory_usage)
        for row in profiler.key_averages()
        if not row.key.startswith("[")  # memory that no operation owns
    ]
    return operation_table(rows, took_us)


def operation_table(rows: Iterable[tuple[str, float, int, int]], took_us: float) -> str:
    """``rows``: name, own time in us, calls, and bytes taken less bytes given back."""
    ranked = sorted(rows, key=lambda row: -row[1])
    inside = sum(row[1] for row in ranked)
    lines = [
        f"{own_us / (took_us or 1.0):6.1%} {own_us:10.2f} us {count:4} x  [{nbytes} B] {name[:_SHOWN_NAME]}"
        for name, own_us, count, nbytes in ranked[:_SHOWN]
    ]
    heading = f"operations of one call of {took_us:.2f} us, {max(0.0, took_us - inside):.2f} us outside them:"
    return "\n".join([heading, *lines])
