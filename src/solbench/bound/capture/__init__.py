"""Capture: a reference program for one workload becomes a functional graph of ATen calls."""

from solbench.bound.capture._capture import DEFAULT_LIMIT_BYTES, capture
from solbench.bound.capture._outputs import Run, run_program

__all__ = ["DEFAULT_LIMIT_BYTES", "Run", "capture", "run_program"]
