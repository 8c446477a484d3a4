"""Peak bandwidths and matrix rates of one device, with torch's own kernels. Needs torch; import it where used.

Every figure is the best of many repeats over several sizes. Disturbances only ever make a repeat slower, so
the best is the truest, and still a floor: a better kernel than torch's may exceed it. A small part of each
streamed buffer is found in the last cache, so a bandwidth may also come out a little above the memory's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from time import perf_counter
from typing import Any, Protocol

import torch

from solbench.hardware._calibration import Calibration

Call = Callable[[], object]
Operation = Callable[[torch.Tensor, torch.Tensor], object]
"""On one piece of the target and of the source buffer."""

TORCH_DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


class Stopwatch(Protocol):
    """Times calls on one device."""

    def best_s(self, call: Call, budget_s: float) -> float:
        """Least seconds of one call, repeated for about ``budget_s``; once if a single call outlasts it."""

    def floor_s(self, call: Call) -> float:
        """Least seconds between two tiny calls made back to back."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes and time to spend."""

    stream_bytes: int
    """Size of one of the two buffers that are streamed: well above the last cache."""
    piece_bytes: int
    """What one call streams. Calls walk through the buffers, so that each piece is cold again when it is
    met again; short calls have a better chance to run undisturbed on a busy machine."""
    cache_bytes: int
    """Size of one of two buffers that fit the last cache together."""
    matmul_sizes: tuple[int, ...]
    """Edges of square products."""
    budget_s: float
    """Per figure and size."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of the device before measuring; fields as in ``Calibration``."""

    kind: str
    title: str
    threads: int
    clock_mhz: float
    l2_bytes: int
    core_cache_bytes: int
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamRates:
    """In bytes/s, everything read and written counted."""

    copy: float
    read: float
    write: float
    update: float
    """Two reads and one write: ``y += x``."""


class HostStopwatch:
    """``perf_counter`` around a call that returns when its work is done: CPU torch."""

    def best_s(self, call: Call, budget_s: float) -> float:
        end = perf_counter() + budget_s
        best = self._once_s(call)
        while perf_counter() < end:
            best = min(best, self._once_s(call))
        return best

    @staticmethod
    def _once_s(call: Call) -> float:
        start = perf_counter()
        call()
        return perf_counter() - start

    def floor_s(self, call: Call) -> float:
        batch = 1000

        def many() -> None:
            for _ in range(batch):
                call()

        return self.best_s(many, 0.02) / batch


class EventStopwatch:
    """CUDA events around a queue of calls that is held back until all are enqueued: launch cost does not count.

    A pair of events has a fixed cost of several µs; the slope between N and 2N calls is free of it.
    """

    SLEEP_CYCLES = 20_000_000
    """About 10 ms at 2 GHz: longer than it takes to enqueue the calls below."""
    QUEUE = 200
    """Well below the depth at which launches block (about 1,000)."""
    SPAN_S = 5e-3
    """What a queue should take at least, so that the events' cost is below 0.2 % of it."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def best_s(self, call: Call, budget_s: float) -> float:
        self._queued_s(call, 1)  # the first call may load a library
        single_s = self._queued_s(call, 1)
        count = max(1, min(self.QUEUE, int(self.SPAN_S / max(single_s, 1e-6))))
        end = perf_counter() + budget_s
        best = self._queued_s(call, count) / count
        while perf_counter() < end:
            best = min(best, self._queued_s(call, count) / count)
        return best

    def floor_s(self, call: Call) -> float:
        self._queued_s(call, self.QUEUE)
        short = min(self._queued_s(call, self.QUEUE) for _ in range(10))
        long = min(self._queued_s(call, 2 * self.QUEUE) for _ in range(10))
        return max(long - short, 0.0) / self.QUEUE

    def _queued_s(self, call: Call, count: int) -> float:
        cuda: Any = torch.cuda  # torch leaves events and _sleep untyped
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        with cuda.device(self._device):
            cuda._sleep(self.SLEEP_CYCLES)
            start.record()
            for _ in range(count):
                call()
            end.record()
            cuda.synchronize()
        return float(start.elapsed_time(end)) * 1e-3


def measure(subject: Subject, device: torch.device, watch: Stopwatch, plan: Plan) -> Calibration:
    """All figures of one device, one after another."""
    began = perf_counter()
    stream = stream_rates(device, watch, plan)
    return Calibration(
        device=subject.kind,
        title=subject.title,
        threads=subject.threads,
        torch=torch.__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        clock_mhz=subject.clock_mhz,
        copy_bytes_per_s=stream.copy,
        read_bytes_per_s=stream.read,
        write_bytes_per_s=stream.write,
        update_bytes_per_s=stream.update,
        matmul_flops_per_s=matmul_rates(device, watch, plan, subject.classes),
        l2_bytes=subject.l2_bytes,
        l2_bytes_per_s=cache_rate(device, watch, plan),
        core_cache_bytes=subject.core_cache_bytes,
        launch_floor_us=launch_floor_us(device, watch),
        seconds=perf_counter() - began,
    )


def stream_rates(device: torch.device, watch: Stopwatch, plan: Plan) -> StreamRates:
    """Bandwidth of memory for four mixes of reads and writes; a memory's two directions may add."""
    source = torch.ones(plan.stream_bytes // 4, dtype=torch.float32, device=device)
    target = torch.zeros_like(source)
    count = plan.stream_bytes // plan.piece_bytes
    pieces = list(zip(target.chunk(count), source.chunk(count), strict=True))

    def rate(accesses: int, *operations: Operation) -> float:
        """Bytes/s of the fastest of the operations, each of which touches a piece ``accesses`` times."""
        best = min(watch.best_s(_walk(pieces, each), plan.budget_s) for each in operations)
        return accesses * plan.piece_bytes / best

    return StreamRates(
        copy=rate(2, lambda y, x: y.copy_(x)),
        read=rate(1, lambda y, x: x.sum(), lambda y, x: torch.dot(x, x)),
        write=rate(1, lambda y, x: y.fill_(1.0), lambda y, x: y.zero_()),
        update=rate(3, lambda y, x: y.add_(x)),
    )


def _walk(pieces: list[tuple[torch.Tensor, torch.Tensor]], operation: Operation) -> Call:
    """Each call takes the next piece, round and round."""
    endless = cycle(pieces)
    return lambda: operation(*next(endless))


def cache_rate(device: torch.device, watch: Stopwatch, plan: Plan) -> float:
    """Copy bandwidth inside the last cache, in bytes/s, read plus written."""
    source = torch.ones(plan.cache_bytes // 4, dtype=torch.float32, device=device)
    target = torch.zeros_like(source)
    return 2 * plan.cache_bytes / watch.best_s(lambda: target.copy_(source), plan.budget_s)


def launch_floor_us(device: torch.device, watch: Stopwatch) -> float:
    """Least time of one tiny call."""
    one = torch.zeros(1, device=device)
    return watch.floor_s(lambda: one.add_(1.0)) * 1e6


def matmul_rates(
    device: torch.device, watch: Stopwatch, plan: Plan, classes: Iterable[str]
) -> dict[str, float]:
    """Dense matrix FLOP/s per precision class; one that torch cannot multiply here is left out."""
    rates: dict[str, float] = {}
    for precision in classes:
        try:
            rates[precision] = _matmul_rate(precision, device, watch, plan)
        except (RuntimeError, NotImplementedError):
            # Out of memory and missing kernels both land here; the absent class is what says so.
            continue
    return rates


def _matmul_rate(precision: str, device: torch.device, watch: Stopwatch, plan: Plan) -> float:
    best = 0.0
    for size in plan.matmul_sizes:
        seconds = _product_s(precision, size, device, watch, plan)
        best = max(best, 2 * size**3 / seconds)
        if seconds > plan.budget_s:
            break  # a class this slow is emulated; larger sizes would only take longer
    return best


def _product_s(
    precision: str, size: int, device: torch.device, watch: Stopwatch, plan: Plan
) -> float:
    call = _product(precision, size, device)
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        return watch.best_s(call, plan.budget_s)
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


def _product(precision: str, size: int, device: torch.device) -> Call:
    if precision == "int8":
        left = torch.randint(-8, 8, (size, size), dtype=torch.int8, device=device)
        return lambda: torch._int_mm(left, left.t())
    if precision == "fp8":
        return _fp8_product(size, device)
    dtype = TORCH_DTYPES[precision]
    a = torch.randn(size, size, device=device).to(dtype)
    b = torch.randn(size, size, device=device).to(dtype)
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def _fp8_product(size: int, device: torch.device) -> Call:
    a = torch.randn(size, size, device=device).to(torch.float8_e4m3fn)
    b = torch.randn(size, size, device=device).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=device)
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
