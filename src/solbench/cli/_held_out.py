"""Workloads of secret sizes beside the published ones, committed to before and opened after."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solbench.spec import Problem, Trace


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The held-out workloads of one problem.

    Every trace of the run carries ``commitment``, the SHA-256 of the secret; those of held-out workloads
    carry the secret too, and are written when all of them are judged. With it
    ``suite.held_out(NAME, secret, count)`` gives the same workloads again.
    """

    secret: str
    uuids: frozenset[str]

    @property
    def commitment(self) -> str:
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def signed(self, trace: Trace) -> Trace:
        """The trace with the commitment, and with the secret if it is of a held-out workload."""
        if trace.solbench is None:
            return trace
        digests = {**trace.solbench.digests, "held_out": self.commitment}
        if trace.workload.uuid in self.uuids:
            digests["held_out_opening"] = self.secret
        record = trace.solbench.model_copy(update={"digests": digests})
        return trace.model_copy(update={"solbench": record})


def with_held_out(problem: Problem, count: int, *, smoke: bool) -> tuple[Problem, HeldOut]:
    """A problem of the suite with ``count`` workloads of sizes that nobody knew before."""
    from solbench.spec import make_problem
    from solbench.suite import held_out

    secret = secrets.token_hex(32)
    extra = held_out(problem.name, secret, count, smoke=smoke).workloads
    whole = make_problem(problem.definition, (*problem.workloads, *extra))
    return whole, HeldOut(secret, frozenset(each.uuid for each in extra))
