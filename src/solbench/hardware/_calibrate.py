"""Measure the CPU or a CUDA card at hand; build the ``cpu`` hardware from it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from solbench.errors import DeviceError, InputError
from solbench.hardware._calibration import (
    Calibration,
    calibration_key,
    merge_peaks,
    store_calibration,
    stored_calibration,
)
from solbench.hardware._device import Hardware

if TYPE_CHECKING:
    from solbench.hardware._measure import Plan, Subject

Announce = Callable[[str], None]

CPU_CLASSES = ("fp64", "fp32", "bf16", "fp16", "int8")
CUDA_CLASSES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8")
CPU_CACHE = Path("/sys/devices/system/cpu/cpu0/cache")
DEFAULT_CACHE_BYTES = {2: 1 << 20, 3: 32 << 20}
"""Taken where the system does not say; a larger last cache only makes the streamed buffers larger."""
MOST_STREAM_BYTES = 512 << 20
QUIET_LOAD = 0.5
STALE_AFTER = timedelta(minutes=10)
VECTOR_REGISTER_BYTES = 2048
"""32 registers of 64 bytes, the widest of x86-64 and aarch64 in common use."""


def quiet(message: str) -> None:
    """Announce nothing."""


def calibrate(
    device: str = "cpu", *, threads: int | None = None, announce: Announce = quiet
) -> Calibration:
    """Measure ``cpu`` or ``cuda[:N]`` and store the peaks. At most 5 s on a CPU, about 10 s on a card.

    Block-scaled nvfp4 is not measured: torch has no product of it that runs everywhere.

    ``threads`` defaults to the CPUs this process may use. Raises ``DeviceError`` if there is no such device,
    and ``InputError`` for a name that is none and for more threads than CPUs.
    """
    if device == "cpu":
        measured = _measure_cpu(threads or usable_cpus(), announce)
    elif re.fullmatch(r"cuda(:\d+)?", device):
        measured = _measure_cuda(device, announce)
    else:
        raise InputError(f"unknown device {device!r}", remedy="Use cpu, or cuda:N.")
    return store_calibration(measured)


def cpu_hardware(threads: int | None = None, announce: Announce = quiet) -> Hardware:
    """The ``cpu`` device from the stored calibration; measures on first use.

    Peaks measured on a busy machine are too low, and a bound made of them too high: such are measured again
    when they are used ``STALE_AFTER`` later, until the machine was quiet once. The best is kept throughout.
    """
    import torch

    count = threads or usable_cpus()
    stored = stored_calibration(calibration_key("cpu", cpu_model(), count, torch.__version__))
    if stored is None or _is_stale(stored):
        stored = calibrate("cpu", threads=count, announce=announce)
    return hardware_of(stored)


def _is_stale(stored: Calibration) -> bool:
    age = datetime.now(UTC) - datetime.fromisoformat(stored.date)
    return not stored.quiet and age > STALE_AFTER


def hardware_of(measured: Calibration) -> Hardware:
    """A CPU calibration as peaks. All classes run on the same vector units, so no two rates ever add."""
    per_core_clk = measured.threads * measured.clock_mhz * 1e6
    source = f"measured {measured.date} with torch {measured.torch} on {measured.threads} threads"
    return Hardware(
        name="cpu",
        title=measured.title,
        sm_count=measured.threads,
        matrix_flops_per_sm_per_clk={},
        simt_flops_per_sm_per_clk={
            name: rate / per_core_clk for name, rate in _with_wider_routes(measured).items()
        },
        clocks_mhz={"measured": measured.clock_mhz},
        default_clock="measured",
        dram_bytes_per_s=measured.dram_bytes_per_s,
        l2_bytes=measured.l2_bytes,
        l2_bytes_per_s=max(measured.l2_bytes_per_s, measured.dram_bytes_per_s),
        shared_bytes_per_sm=measured.core_cache_bytes,
        register_bytes_per_sm=VECTOR_REGISTER_BYTES,
        launch_floor_us=measured.launch_floor_us,
        sources={"all": source},
        calibrated=True,
    )


def _with_wider_routes(measured: Calibration) -> dict[str, float]:
    """Rate of each class by its fastest route: itself, or a class that holds its values exactly."""
    rates = {name: measured.matmul_flops_per_s.get(name, 0.0) for name in CPU_CLASSES}
    fp32 = max(rates["fp32"], rates["fp64"])
    bf16, fp16 = max(rates["bf16"], fp32), max(rates["fp16"], fp32)
    half = max(bf16, fp16)
    int8 = max(rates["int8"], half)
    return {
        "fp64": rates["fp64"],
        "fp32": fp32,
        "tf32": fp32,
        "bf16": bf16,
        "fp16": fp16,
        "fp8": half,
        "int8": int8,
        "nvfp4": int8,  # twice a four-bit float is a small integer
    }


def usable_cpus() -> int:
    """CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_model() -> str:
    """The CPU's name as the system reports it."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def cache_bytes(level: int) -> int | None:
    """Size of CPU 0's data cache of this level, or ``None`` where the system does not say."""
    for index in sorted(CPU_CACHE.glob("index*")):
        kind = (index / "type").read_text().strip()
        if kind != "Instruction" and (index / "level").read_text().strip() == str(level):
            return _size((index / "size").read_text().strip())
    return None


def _measure_cpu(threads: int, announce: Announce) -> Calibration:
    """All threads together, and one thread alone.

    Where something else takes a core, threads that wait for each other lose far more than that core: then one
    thread's product rate times the threads is nearer to the peak, and its bandwidth may be the better one.
    """
    from solbench.hardware._measure import Plan, Subject

    if threads > usable_cpus():
        # One thread's rate is scaled to all of them: more than there are cores would invent peaks.
        raise InputError(f"{threads} threads on {usable_cpus()} CPUs", key="threads")
    announce(f"measuring this CPU ({cpu_model()}, {threads} threads), about 5 s")
    last_cache = cache_bytes(3) or cache_bytes(2) or DEFAULT_CACHE_BYTES[3]
    subject = Subject(
        kind="cpu",
        title=cpu_model(),
        threads=threads,
        clock_mhz=float(_cpuinfo("cpu MHz") or 1000.0),
        l2_bytes=last_cache,
        core_cache_bytes=cache_bytes(2) or DEFAULT_CACHE_BYTES[2],
        classes=CPU_CLASSES,
    )
    plan = Plan(
        stream_bytes=min(8 * last_cache, MOST_STREAM_BYTES),
        piece_bytes=last_cache // 4,
        cache_bytes=last_cache // 8,
        matmul_sizes=(256, 768, 1536),
        budget_s=0.1,
    )
    is_quiet = _load() < QUIET_LOAD
    if not is_quiet:
        announce(
            "this machine is busy: the peaks may come out too low, and bounds on 'cpu' too high"
        )
    together = _on_threads(threads, subject, plan)
    if threads > 1:
        alone = _on_threads(1, subject, plan)
        products = {name: threads * rate for name, rate in alone.matmul_flops_per_s.items()}
        scaled = replace(alone, matmul_flops_per_s=products)
        together = replace(
            merge_peaks(scaled, together), seconds=alone.seconds + together.seconds, runs=1
        )
    return replace(together, quiet=is_quiet)


def _on_threads(threads: int, subject: Subject, plan: Plan) -> Calibration:
    import torch

    from solbench.hardware._measure import HostStopwatch, measure

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return measure(subject, torch.device("cpu"), HostStopwatch(), plan)
    finally:
        torch.set_num_threads(before)


def _load() -> float:
    """Runnable processes a CPU, over the last minute; 0 where the system does not say."""
    return os.getloadavg()[0] / usable_cpus() if hasattr(os, "getloadavg") else 0.0


def _measure_cuda(name: str, announce: Announce) -> Calibration:
    import torch

    from solbench.hardware._measure import EventStopwatch, Plan, Subject, measure

    if not torch.cuda.is_available():
        raise DeviceError(f"cannot calibrate {name}: torch {torch.__version__} sees no CUDA device")
    device = torch.device(name)
    properties = torch.cuda.get_device_properties(device)
    announce(f"measuring {properties.name}, about 10 s")
    l2_bytes = int(properties.L2_cache_size)
    subject = Subject(
        kind="cuda",
        title=str(properties.name),
        threads=0,
        clock_mhz=getattr(properties, "clock_rate", 1_000_000) / 1000.0,
        l2_bytes=l2_bytes,
        core_cache_bytes=0,
        classes=CUDA_CLASSES,
    )
    plan = Plan(
        stream_bytes=max(1 << 30, 8 * l2_bytes),
        piece_bytes=max(1 << 30, 8 * l2_bytes),
        cache_bytes=l2_bytes // 8,
        matmul_sizes=(4096, 8192),
        budget_s=0.4,
    )
    return measure(subject, device, EventStopwatch(device), plan)


def _cpuinfo(key: str) -> str | None:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _size(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)
