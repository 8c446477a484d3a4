"""Bounds for the judge: derived once per workload and device, and never a reason to fail an
evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from solbench.bound import Bound, derive_bound
from solbench.errors import InputError
from solbench.spec import Problem, Workload, workload_digest


@dataclass(frozen=True, slots=True)
class BoundOrNote:
    """A complete bound, or why there is none."""

    bound: Bound | None
    note: str = ""

    @property
    def t_sol_ms(self) -> float | None:
        return self.bound.t_sol_ms if self.bound is not None else None

    @property
    def t_floor_ms(self) -> float | None:
        return self.bound.t_floor_ms if self.bound is not None else None

    def record(self) -> dict[str, Any] | None:
        """The bound as its command line prints it."""
        from solbench.bound import bound_record

        return bound_record(self.bound) if self.bound is not None else None


class BoundBook:
    """Bounds already derived."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], BoundOrNote] = {}

    def get(self, problem: Problem, workload: Workload, hardware: str) -> BoundOrNote:
        """The bound of a workload. Raises ``InputError`` only for hardware that is not known."""
        key = (problem.digest, workload_digest(workload), hardware)
        if key not in self._known:
            self._known[key] = _derive(problem, workload, hardware)
        return self._known[key]


def _derive(problem: Problem, workload: Workload, hardware: str) -> BoundOrNote:
    try:
        (bound,) = derive_bound(problem, hardware, workload=workload.uuid)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - it executes the problem's own program
        return BoundOrNote(None, f"no bound: {type(error).__name__}: {error}")
    if bound.t_sol_ms is None:
        unknown = ", ".join(bound.unknown_ops)
        return BoundOrNote(bound, f"no bound: {bound.error or f'unknown operations {unknown}'}")
    return BoundOrNote(bound)
