"""One bound to derive, as it travels to a child process."""

from __future__ import annotations

from dataclasses import dataclass

from solbench.bound._precision_result import PrecisionMode
from solbench.bound._result import Bound

READY = "ready"
"""What a child process sends first."""


@dataclass(frozen=True, slots=True)
class Task:
    """A program with one workload."""

    problem: str
    """The definition's name, or the path as given."""
    workload: str | None
    """Its uuid; ``None`` for a module, or a problem that cannot be loaded."""
    path: str
    hardware: str
    clock_mhz: float
    verify: bool
    blob_roots: tuple[str, ...] = ()
    """Further folders of safetensors files."""
    precision: PrecisionMode = "auto"
    rules: tuple[str, ...] = ()
    """Folders of the user's own rules."""

    def failed(self, error: str, seconds: float) -> Bound:
        """The bound that could not be derived."""
        return Bound(
            problem=self.problem,
            workload=self.workload or "",
            hardware=self.hardware,
            clock_mhz=self.clock_mhz,
            t_sol_ms=None,
            t_attainable_ms=None,
            t_floor_ms=None,
            binding=None,
            matrix_flops={},
            dram_read_bytes=0,
            dram_write_bytes=0,
            complete=False,
            unknown_ops=(),
            capture=None,
            verified=False,
            precision="declared",
            assumptions=(),
            seconds=seconds,
            error=error,
        )
