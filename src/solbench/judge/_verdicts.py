"""From what a worker did to what the trace says."""

from __future__ import annotations

from dataclasses import dataclass

from solbench.gate import GateResult
from solbench.jail import Reply
from solbench.jail.protocol import Status as WorkerStatus
from solbench.spec import Flag
from solbench.spec import Status as Verdict


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a workload did not pass."""

    status: Verdict
    reason: str
    phase: str
    flags: tuple[Flag, ...] = ()
    gate: GateResult | None = None
    """Set where outputs were compared."""
    fatal: bool = False
    """The worker is gone or cannot be used any more."""


_STATUSES: dict[int, tuple[Verdict, str]] = {
    WorkerStatus.LOAD_FAILED: ("RUNTIME_ERROR", "the solution cannot be imported"),
    WorkerStatus.ENTRY_MISSING: ("RUNTIME_ERROR", "the solution has no such entry point"),
    WorkerStatus.CALL_RAISED: ("RUNTIME_ERROR", "the call raised an exception"),
    WorkerStatus.WRONG_COUNT: ("INCORRECT_SHAPE", "the call returned another number of outputs"),
    WorkerStatus.NOT_A_TENSOR: (
        "INCORRECT_DTYPE",
        "the call returned something whose type is not exactly torch.Tensor",
    ),
    WorkerStatus.WRONG_SHAPE: ("INCORRECT_SHAPE", "the call returned an output of another shape"),
    WorkerStatus.WRONG_DTYPE: ("INCORRECT_DTYPE", "the call returned an output of another dtype"),
    WorkerStatus.OUT_OF_MEMORY: ("RUNTIME_ERROR", "out of memory"),
    WorkerStatus.COMPILE_AFTER_SEAL: (
        "RUNTIME_ERROR",
        "the call tried to start a process after sealing; compile on the first call, or in setup()",
    ),
    WorkerStatus.UNSUPPORTED: ("RUNTIME_ERROR", "not supported on this device"),
    WorkerStatus.INTERNAL: ("RUNTIME_ERROR", "the worker's shim failed"),
}


def failure_of(reply: Reply, phase: str) -> Failure | None:
    """The verdict on a reply; ``None`` if it is a good one."""
    if reply.ok:
        return None
    if reply.kind == "timeout":
        return Failure("TIMEOUT", reply.detail or f"no answer in time ({phase})", phase, fatal=True)
    if reply.kind == "memory":
        reason = reply.detail or "the worker took more memory than it may"
        return Failure("RUNTIME_ERROR", reason, phase, fatal=True)
    if reply.kind == "died":
        return Failure("RUNTIME_ERROR", f"the worker died: {reply.detail}", phase, fatal=True)
    status, reason = _STATUSES.get(
        int(reply.status), ("RUNTIME_ERROR", f"the worker gave an unknown status {reply.status}")
    )
    return Failure(status, f"{reason}: {reply.detail}" if reply.detail else reason, phase)


def failure_of_outputs(gate: GateResult) -> Failure | None:
    """The verdict on a comparison; ``None`` if it passed."""
    if gate.passed:
        return None
    if not gate.reference_is_finite:
        return Failure("INVALID_REFERENCE", gate.reason, "compare", gate=gate)
    return Failure(gate.status, gate.reason, "compare", gate=gate)


def late_write(evidence: str) -> Failure:
    """Outputs that changed after the acknowledgement: the time would be of an unfinished call."""
    reason = "outputs were still being written after the call had returned"
    flag = Flag(id="late_write", evidence=evidence)
    return Failure("REWARD_HACK", reason, "run", (flag,), fatal=True)


def ran_while_held(evidence: str) -> Failure:
    """Work outside the time that is measured, on inputs that are there already."""
    reason = "the worker ran although it was stopped"
    flag = Flag(id="ran_while_held", evidence=evidence)
    return Failure("REWARD_HACK", reason, "run", (flag,), fatal=True)


def broken_guard(evidence: str) -> Failure:
    """A write outside the outputs."""
    reason = "the call wrote outside its outputs"
    flag = Flag(id="out_of_bounds_write", evidence=evidence)
    return Failure("RUNTIME_ERROR", reason, "compare", (flag,))


def changed_input(evidence: str) -> Failure:
    """A write into an input that the judge reads as well."""
    reason = "the call changed its inputs"
    return Failure("REWARD_HACK", reason, "compare", (Flag(id="input_write", evidence=evidence),))
