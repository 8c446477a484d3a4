"""What goes over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from solbench.spec import Definition, Solution, Trace, Workload

State = Literal["queued", "running", "done", "cancelled", "failed"]
FINISHED: frozenset[State] = frozenset({"done", "cancelled", "failed"})


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InlineProblem(_Record):
    """A problem as text. Its reference runs with the service's rights."""

    definition: Definition
    workloads: tuple[Workload, ...] = Field(min_length=1)


class Submission(_Record):
    """One evaluation that is asked for."""

    problem: str | InlineProblem
    """``suite:NAME``, a folder below one of the service's roots, or the problem itself."""
    solution: Solution
    device: str | None = None
    """One of the service's; the first one by default."""
    workloads: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Uuids; all by default."""
    mode: Literal["reward", "rank"] = "reward"
    timeout_s: Annotated[float, Field(ge=0.1, le=600)] | None = None
    """Of one call, what it compiles included."""
    hardware: str | None = None
    require_jail: bool = False
    require_admission: bool = False


class Job(_Record):
    """An evaluation and what became of it."""

    id: str
    state: State
    position: int | None
    """How many of this device's queue come before it; null once it runs."""
    client: str
    device: str
    problem: str
    solution: str
    error: str | None = None
    """Why there is no verdict: of ``failed`` and ``cancelled`` jobs."""
    passed: bool | None = None
    score: float | None = None
    traces: tuple[Trace, ...] = ()
    """Those there are, also while it runs; left out of lists."""


class Health(_Record):
    """How the service is."""

    version: str
    devices: tuple[str, ...]
    queued: int
    running: int
    stopping: bool


class Refusal(_Record):
    """Why a request was not taken."""

    error: str
    key: str | None = None
    """Where in the request, such as ``solution.spec.entry_point``."""
    remedy: str | None = None
    others: tuple[dict[str, Any], ...] = ()
    """Further errors of the same request."""
