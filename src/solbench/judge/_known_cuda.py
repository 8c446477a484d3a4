"""What the judge of a GPU has seen of a worker, and how long that had the device."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from solbench.judge._arena_cuda import CudaArena
from solbench.judge._watch import Watched


@dataclass(frozen=True, slots=True)
class Finished:
    """What a worker left behind when its run was over, to be looked at once more later."""

    arena: CudaArena
    positions: torch.Tensor
    poisoned: torch.Tensor
    before_release: torch.Tensor
    at_finish: torch.Tensor


@dataclass(slots=True)
class Known:
    """What was seen of one worker."""

    synchronises: bool = False
    """Its calls cannot be queued."""
    queued: int = 0
    """Sequence number of the run that waits for its release."""
    rehearsal: int = 0
    """The same of the call that waits before it, if any."""
    call_ms: dict[int, float] = field(default_factory=dict)
    """Layout → time of a call in its last run."""
    finished: Finished | None = None
    strikes: int = 0
    """Runs before whose release it had the device."""
    evidence: str = ""
    shared: str = ""
    """Evidence that other processes had the device while it was measured."""


def until_free_ns(watched: Watched, released_ns: int, looked: Watched) -> int:
    """From the release until no one else worked any more; if the judge was let in before that, the time counts
    for the worker. What the host took between the end of the watch and the release does not."""
    free_ns = looked.began_ns if looked.undisturbed else looked.ended_ns
    return free_ns - watched.ended_ns - (released_ns - watched.seen_ns)
