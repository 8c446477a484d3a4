"""Capture: a reference program for one workload becomes a functional graph of ATen calls."""

from solbench.bound.capture._capture import DEFAULT_LIMIT_BYTES, capture

__all__ = ["DEFAULT_LIMIT_BYTES", "capture"]
