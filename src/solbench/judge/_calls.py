"""One checked, timed round: the same fresh inputs to one or more held workers, each timed and
compared.

The order is what makes a time trustworthy. Workers are held first; only then the inputs come into
being; outputs are poisoned and caches flushed; one worker at a time is released against the judge's
clock and held again; expected outputs are made last of all. Every timed call is compared.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from solbench.errors import ReferenceFailed
from solbench.gate import GateResult
from solbench.jail import Worker
from solbench.judge._device import Arena, Device, Passage, Poison, Run
from solbench.judge._layouts import ArgumentValue, find_mismatch
from solbench.judge._oracle import Oracle
from solbench.judge._precision import PrecisionAudit
from solbench.judge._rules import Outputs
from solbench.judge._verdicts import (
    Failure,
    broken_guard,
    changed_input,
    failure_of,
    failure_of_outputs,
    late_write,
    ran_while_held,
)

_DYING_S = 1.0
"""A process that was killed is gone by then, however much memory it has to give back."""


@dataclass(frozen=True, slots=True)
class Participant:
    """A worker that takes part in a round."""

    worker: Worker
    arena: Arena
    checked: bool = True
    """Its outputs are poisoned and compared. Always for a candidate; the problem's own reference
    needs it once."""
    is_candidate: bool = True


@dataclass(slots=True)
class Outcome:
    """What one participant's calls came to."""

    latency_ms: float = 0.0
    """Of one call: the run's time, nothing subtracted, over its calls."""
    lost_share: float = 0.0
    """Above 0: the latency does not count."""
    looked_ms: float = 0.0
    """The same until the judge had the device back; 0 where there is no such clock."""
    looked_at_once: bool = False
    """It did not have to wait for the worker's word."""
    gates: list[GateResult] = field(default_factory=list)
    precision: PrecisionAudit = field(default_factory=PrecisionAudit)
    failure: Failure | None = None
    audit_s: float = 0.0
    """Of each audited call: making it in float64 and comparing; 0 where none was."""


class InputsChanged(ReferenceFailed):
    """The problem's inputs do not keep their form from call to call."""


@dataclass(frozen=True, slots=True)
class Round:
    """A round over ``run.count`` slots."""

    device: Device
    oracle: Oracle
    run: Run
    seeds: Sequence[int]
    """One for each slot of the run."""
    poison: Poison
    timeout_s: float
    audits: Mapping[int, str] = field(default_factory=dict)
    """Calls that are also compared with float64 → the variation of their inputs, empty for none."""

    def play(self, participants: Sequence[Participant]) -> list[Outcome]:
        """Release the participants in order. Raises ``ReferenceFailed`` when the reference does."""
        outcomes = [Outcome() for _ in participants]
        ready = [
            (participant, outcome)
            for participant, outcome in zip(participants, outcomes, strict=True)
            if self._hold(participant, outcome)
        ]
        pairs = zip(participants, outcomes, strict=True)
        if any(each.is_candidate and outcome.failure for each, outcome in pairs):
            # Nothing is left to find out, and inputs that the reference shares with it would be stale.
            return outcomes
        values = [
            self._lay_out(slot, self.oracle.inputs(seed, self.audits.get(number, "")), ready)
            for number, (slot, seed) in enumerate(zip(self.run.slots, self.seeds, strict=True))
        ]
        for participant, _ in ready:
            self.device.rehearse(participant.worker)
            if participant.checked:
                participant.arena.poison(self.run.slots, self.poison)
        for participant, outcome in ready:
            self.device.flush()
            self._release(participant, outcome)
        self._compare(ready, values)
        for participant, outcome in ready:
            if outcome.failure is None:
                self._ran_while_held(participant, outcome)
        return outcomes

    def _ran_while_held(self, participant: Participant, outcome: Outcome) -> bool:
        """Whether it worked on the inputs before its release, or on the outputs after the clock had
        stopped."""
        evidence = self.device.ran_while_held(participant.worker)
        if evidence:
            # A thread that is killed leaves its processor once more: that is no work.
            death = participant.worker.death(_DYING_S)
            outcome.failure = failure_of(death, "run") if death else ran_while_held(evidence)
        return bool(evidence)

    def _hold(self, participant: Participant, outcome: Outcome) -> bool:
        reply = self.device.hold(participant.worker, participant.arena, self.run, self.timeout_s)
        outcome.failure = failure_of(reply, "run")
        return outcome.failure is None

    def _lay_out(
        self,
        slot: int,
        inputs: dict[str, ArgumentValue],
        ready: Sequence[tuple[Participant, Outcome]],
    ) -> dict[str, ArgumentValue]:
        """Fill the slot; the inputs as the judge goes on holding them."""
        for participant, _ in ready:
            arena = participant.arena
            mismatch = find_mismatch(arena.layout, inputs)
            if mismatch:
                raise InputsChanged(mismatch)
            arena.fill(slot, inputs)
        return ready[0][0].arena.kept(slot, inputs) if ready else inputs

    def _release(self, participant: Participant, outcome: Outcome) -> None:
        if self._ran_while_held(participant, outcome):
            return
        passage = self.device.release(
            participant.worker, participant.arena, self.run, self.timeout_s
        )
        outcome.failure = _failure_of_passage(passage)
        outcome.lost_share = passage.lost_share
        outcome.latency_ms = passage.elapsed_ms / self.run.count
        outcome.looked_ms = passage.looked_ms / self.run.count
        outcome.looked_at_once = passage.looked_at_once

    def _compare(
        self,
        ready: Sequence[tuple[Participant, Outcome]],
        values: Sequence[dict[str, ArgumentValue]],
    ) -> None:
        running = [pair for pair in ready if pair[0].checked and pair[1].failure is None]
        slots = self.run.slots
        for participant, outcome in running:
            # Before the reference runs: it may write into the judge's copy of the inputs.
            evidence = participant.arena.changed_inputs(slots, values)
            outcome.failure = changed_input(evidence) if evidence else None
        began = time.perf_counter()
        truths = {number: self.oracle.truth(values[number]) for number in self.audits}
        truths_s = time.perf_counter() - began
        expected = [self.oracle.expected(inputs) for inputs in values]
        for participant, outcome in running:
            outputs = [participant.arena.outputs(slot) for slot in slots]
            outcome.gates = self.oracle.compare(outputs, expected, values)
            began = time.perf_counter()
            for number, truth in truths.items():
                call = (values[number], outputs[number], expected[number], truth)
                self._audit(outcome, number, *call)
            if truths:
                outcome.audit_s = (truths_s + time.perf_counter() - began) / len(truths)
            outcome.failure = outcome.failure or _failure_of_gates(outcome.gates)
            guard = participant.arena.broken_guard(slots)
            if guard and outcome.failure is None:
                outcome.failure = broken_guard(guard)

    def _audit(
        self,
        outcome: Outcome,
        number: int,
        inputs: dict[str, ArgumentValue],
        outputs: Outputs,
        expected: Outputs,
        truth: Outputs,
    ) -> None:
        """Judge one call beside float64. Errors of other calls say nothing about varied inputs."""
        varied = self.audits[number]
        errors = {} if varied else self.oracle.errors
        judged = self.oracle.exactly(inputs, outputs, expected, truth, errors)
        gate = judged.gate
        if varied and not gate.passed:
            gate = replace(gate, reason=f"{gate.reason} (on other values of its inputs: {varied})")
        outcome.gates[number] = gate
        if not varied:
            outcome.precision.add(outputs, judged.expected, judged.truth)


def _failure_of_gates(gates: Sequence[GateResult]) -> Failure | None:
    """The first call that is wrong."""
    failures = (failure_of_outputs(gate) for gate in gates)
    return next((failure for failure in failures if failure is not None), None)


def _failure_of_passage(passage: Passage) -> Failure | None:
    failure = failure_of(passage.reply, "run")
    if failure is None and passage.late_write:
        return late_write(passage.late_write)
    return failure
