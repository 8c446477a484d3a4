"""Repeating a verdict from the seeds that its trace tells."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from solbench.errors import InputError
from solbench.judge._orders import Replayed
from solbench.judge._results import Mode, Options
from solbench.spec import (
    Problem,
    SolBenchRecord,
    Solution,
    Trace,
    definition_digest,
    solution_digest,
    workload_digest,
)

_MOST_CALLS = 2_000_000
"""More than any evaluation makes: a dozen workers, a hundred samples each, some thousand calls a sample."""
_WHERE = ("output", "index", "expected")
"""What of a failure follows from the inputs alone; what the solution gave there may follow from chance."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A verdict and its repetition."""

    earlier: Trace
    trace: Trace
    differences: tuple[str, ...]
    """In words; empty if the verdict is the same."""

    @property
    def same(self) -> bool:
        return not self.differences


def replay_of(trace: Trace, problem: Problem, solution: Solution) -> tuple[str, Replayed, Options]:
    """The workload, the seeds and the options of a trace. Raises ``InputError`` where they do not fit."""
    record = _record(trace)
    uuid = trace.workload.uuid
    made_of = {
        "definition": definition_digest(problem.definition),
        "solution": solution_digest(solution),
        "workload": workload_digest(problem.workload(uuid)),
    }
    for key, digest in made_of.items():
        if record.digests.get(key) != digest:
            raise InputError(
                f"the trace is of another {key} than the one given",
                key=f"digests.{key}",
                remedy="Give the files that were evaluated, unchanged.",
            )
    options = Options(mode=cast(Mode, record.mode or "reward"))
    hardware = (record.bound or {}).get("hardware")
    if isinstance(hardware, str):
        options["hardware"] = hardware
    if record.calls > _MOST_CALLS:
        what = f"{record.calls} calls are more than an evaluation makes"
        raise InputError(what, key="calls", remedy="The trace was changed.")
    return uuid, Replayed(_secret(record), record.calls), options


def _record(trace: Trace) -> SolBenchRecord:
    if trace.solbench is None or "seeds_opening" not in trace.solbench.digests:
        raise InputError("the trace tells no seeds", key="digests.seeds_opening")
    return trace.solbench


def _secret(record: SolBenchRecord) -> bytes:
    """The secret, which must be what was committed to."""
    try:
        secret = bytes.fromhex(record.digests["seeds_opening"])
    except ValueError as error:
        raise InputError("is no hexadecimal number", key="digests.seeds_opening") from error
    if hashlib.sha256(secret).hexdigest() != record.digests.get("seeds"):
        what = "the seeds are not those that the trace committed to"
        raise InputError(what, key="digests.seeds_opening", remedy="The trace was changed.")
    return secret


def replay_result(earlier: Trace, trace: Trace) -> Replay:
    """Both, and where the verdicts differ. Times are not compared: they are never twice the same."""
    return Replay(earlier, trace, tuple(_differences(earlier, trace)))


def _differences(earlier: Trace, trace: Trace) -> Iterator[str]:
    before, after = earlier.evaluation.status, trace.evaluation.status
    if before != after:
        yield f"the status was {before} and is {after}"
        return
    old, new = earlier.solbench, trace.solbench
    if old is None or new is None:
        return
    if old.phase != new.phase:
        yield f"the verdict fell in {old.phase} and falls in {new.phase}"
    was, now = old.failure or {}, new.failure or {}
    for key in _WHERE:
        if was.get(key) != now.get(key):
            yield f"{key} of the first wrong element was {was.get(key)} and is {now.get(key)}"
