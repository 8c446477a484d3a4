"""The GPU problems of the attack corpus: look-alikes are judged on the same."""

from __future__ import annotations

from ._problems import load_shared

_shared = load_shared("_gpu_problems")

SCALE, HEAVY, CHAIN, KERNEL, RUN = (
    getattr(_shared, name) for name in ("SCALE", "HEAVY", "CHAIN", "KERNEL", "RUN")
)
