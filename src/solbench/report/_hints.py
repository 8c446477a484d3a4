"""What to try next: rules of thumb over one workload's feedback. Each gives a sentence, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from solbench.judge.guard import kernel_authorship

if TYPE_CHECKING:
    from solbench.report._feedback import Feedback

_NEAR = 1.15
"""Times T_attainable: closer is within what other kernels of this kind reach."""
_FAR = 10.0
"""Times T_attainable: what binds at the limit does not bind there."""
_MATTERS = 0.15
"""Share of a call that is worth a hint."""
_MOST = 0.5
_MANY_KERNELS = 4
_MANY_OPERATIONS = 8
_TELLING = 0.02
"""Share of a call from which on an operation is more than bookkeeping."""
_MOVED_TWICE = 1.5
"""Times the demanded bytes."""
_LOW_OCCUPANCY = 0.25
_BUSY = 0.6
"""Of the peak of memory or of the multiprocessors: below both, warps wait."""

_WRONG = "Right first: nothing is timed before the outputs match."
_FAILED = {
    "COMPILE_ERROR": "It does not build: nothing ran.",
    "RUNTIME_ERROR": "It fails before it has outputs to compare: the log says where.",
    "TIMEOUT": "It does not end: a loop, a deadlock, or too long a compilation in the first call.",
    "INVALID_REFERENCE": "No fault of the solution: the problem's own reference or inputs cannot be made here.",
}


def hints_of(made: Feedback) -> tuple[str, ...]:
    """Most telling first."""
    if made.status != "PASSED":
        return (_FAILED.get(made.status, _WRONG),)
    return tuple(hint for rule in _RULES if (hint := rule(made)))


def _idle(made: Feedback) -> str:
    if len(made.kernels) < 2 or made.busy_ms is None or not made.latency_ms:
        return ""
    if made.gaps_ms is not None:
        idle = made.gaps_ms / (made.gaps_ms + made.busy_ms or 1.0)
    else:
        idle = 1.0 - made.busy_ms / made.latency_ms
    if idle <= _MATTERS:
        return ""
    return f"No kernel runs for {idle:.0%} of the call: fuse kernels, or capture a graph."


def _many_kernels(made: Feedback) -> str:
    launches = sum(each.launches for each in made.kernels)
    if launches < _MANY_KERNELS:
        return ""
    return f"{launches} kernels a call: what one writes and the next reads goes through memory."


def _library(made: Feedback) -> str:
    own = kernel_authorship((each.name, each.total_ms) for each in made.kernels)
    if own.library_share <= _MOST:
        return ""
    first = own.library_kernels[0]
    return f"{own.library_share:.0%} of kernel time is in library kernels, first {first}."


def _outside(made: Feedback) -> str:
    if not made.operations or made.outside_share is None or made.outside_share <= _MOST:
        return ""
    return (
        f"{made.outside_share:.0%} of the call is outside PyTorch's operations: in Python, or in code of "
        "its own that this profiler does not see."
    )


def _many_operations(made: Feedback) -> str:
    calls = sum(each.calls for each in made.operations if each.share >= _TELLING)
    if calls < _MANY_OPERATIONS:
        return ""
    return f"{calls} operations a call, most of them a pass over memory: fuse them (torch.compile, C++)."


def _moved_twice(made: Feedback) -> str:
    demanded, moved = made.demanded_bytes, made.nsight_dram_bytes
    if not demanded or moved is None or moved <= _MOVED_TWICE * demanded:
        return ""
    return (
        f"Memory moves {moved / demanded:.1f} times the bytes that the problem demands: keep what is read "
        "again in registers, shared memory or cache."
    )


def _waiting(made: Feedback) -> str:
    """About the longest kernel that Nsight Compute saw."""
    longest = max(made.nsight, key=lambda each: each.duration_ms or 0.0, default=None)
    if longest is None:
        return ""
    busiest = max(longest.dram_share or 0.0, longest.sm_share or 0.0)
    if busiest >= _BUSY or not longest.stall:
        return ""
    said = f"{longest.name[:40]}: neither memory nor multiprocessors are busy; warps wait for {longest.stall}"
    if longest.occupancy is not None and longest.occupancy < _LOW_OCCUPANCY:
        return (
            f"{said}, and few are resident ({longest.occupancy:.0%}): more blocks, fewer registers."
        )
    return f"{said}: more independent work for each warp."


def _distance(made: Feedback) -> str:
    if made.latency_ms is not None and made.latency_ms <= 0:
        return "Too short for this clock: no distance can be told; larger workloads tell more."
    if made.times_sol is not None and made.times_sol < 1:
        return (
            "Below the bound: writes that stayed in the cache explain it, or the time or the bound is wrong; "
            "'solbench challenge' looks."
        )
    if made.times_attainable is not None and made.times_attainable <= _NEAR:
        return "Near what is attainable: only another algorithm or precision would gain more."
    if made.times_attainable is not None and made.times_attainable > _FAR:
        return "Far from any limit: look at overhead, launches and parallelism before bandwidth or FLOPs."
    if made.binding == "dram" and made.times_sol:
        return "Memory binds: read each input once, write each output once, with wide coalesced accesses."
    if made.binding == "matrix" and made.times_sol:
        return "Matrix units bind: keep them fed; look at tiles, pipelining and operand formats."
    return ""


_RULES: tuple[Callable[[Feedback], str], ...] = (
    _idle, _many_kernels, _library, _moved_twice, _waiting, _outside, _many_operations, _distance,
)  # fmt: skip
