"""Capture: a reference program for one workload becomes a functional graph of ATen calls."""

from solbench.bound.capture._capture import DEFAULT_LIMIT_BYTES, DEFAULT_SEED, capture
from solbench.bound.capture._running import Run, run_program

__all__ = ["DEFAULT_LIMIT_BYTES", "DEFAULT_SEED", "Run", "capture", "run_program"]
