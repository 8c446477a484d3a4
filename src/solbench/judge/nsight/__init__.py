"""Nsight Compute on one call of a solution, where it is installed: counters that say why a kernel is slow."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from solbench.judge.nsight._page import NsightKernel, read_nsight

if TYPE_CHECKING:
    from solbench.spec import Problem, Solution, Workload

__all__ = ["NsightKernel", "find_nsight", "profile_nsight", "read_nsight"]


def find_nsight() -> str | None:
    """``ncu``, on the search path or where the CUDA toolkit puts it."""
    return shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")


def profile_nsight(
    problem: Problem, solution: Solution, workload: Workload, device: str
) -> tuple[NsightKernel, ...]:
    """The kernels of one call, each replayed by the profiler as often as its counters need.

    The solution runs outside the jail, with the caller's rights. Clocks are left as they are. Raises
    ``DeviceError`` where ``ncu`` is missing or may not read the counters, or says nothing;
    ``BuildError`` for a solution that does not build.
    """
    from solbench.errors import DeviceError

    if not device.startswith("cuda"):
        raise DeviceError(f"Nsight Compute watches NVIDIA GPUs, not '{device}'")
    ncu = find_nsight()
    if ncu is None:
        raise DeviceError("ncu was not found. Install Nsight Compute, or go without --ncu")
    from solbench.judge.nsight._run import run_nsight

    return run_nsight(ncu, problem, solution, workload, device if ":" in device else f"{device}:0")
