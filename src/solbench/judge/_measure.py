"""Measuring one workload: warm-up, checked timed rounds until the stop rule, and what they came
to."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from solbench.errors import JailError
from solbench.gate import GateResult
from solbench.judge._calls import Outcome, Participant, Round
from solbench.judge._clocks import Clocks
from solbench.judge._device import Device, Poison, Run
from solbench.judge._floor import TimerFloor
from solbench.judge._measurement import Audits, Measurement
from solbench.judge._oracle import Oracle
from solbench.judge._runner import Runner
from solbench.judge._samples import Series
from solbench.judge._seeds import SeedBook
from solbench.judge._statistics import (
    StopRule,
    Stopwatch,
    drifted,
    median_interval,
)
from solbench.judge._verdicts import Failure

DRIFT_EVERY = 4
"""Once the reference's time is known, it still runs in every fourth round, to show drift."""

_MORE_ALONE = 12
"""Further calls alone, where the judge's look at those so far leaves open whether calls share work."""

SENSITIVE = "sensitive_to_values"

_CLAIM_FACTOR = 1.25
_CLAIM_MS = 3e-3
"""A profiled call is neither queued nor cold: it may take somewhat longer, or less."""

_DROPPED_SHARE, _DROPPED_FACTOR = 0.25, 1.1
"""Samples that a candidate may have dropped beyond the reference's, and what they may make of its median."""

_CONTROLS = ("watch_sm_clock_mhz",)
"""Readings of work of the judge's own that is the same in every run."""

_CROWDED = 1.5
"""On a busy machine, undisturbed samples are waited for so many times the rule's seconds."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a workload is measured with."""

    device: Device
    oracle: Oracle
    seeds: SeedBook
    floor: TimerFloor
    candidate: Runner
    reference: Runner | None
    layout: int
    poison: Poison = "zeros"
    """How the outputs of timed calls start; official problems promise zeros."""
    audits: Audits = field(default_factory=Audits)
    least_calls: int = 0
    """A verdict that is repeated needs as many calls as it took."""
    comparison_seconds: float = math.inf
    """What the reference may take to compare one sample, by its own time: long runs are shortened to it."""
    longest_run: int = 1 << 10
    """Calls."""
    clock: Callable[[], float] = time.perf_counter

    def measure(self, into: Measurement, rule: StopRule, reference_rule: StopRule) -> None:
        """Add timed rounds until both rules are done, or the candidate fails."""
        watch = Stopwatch(self.clock)
        into.clocks.next_worker()
        batch = self.warm_up(into)
        if into.failure is not None:
            return
        series = into.clocks.precise
        kept, total = len(series.kept), len(series)
        turn = 0
        while into.calls < self.least_calls or not _done(
            rule, series.kept[kept:], len(series) - total, watch.elapsed_s
        ):
            with_reference = self.device.interleaves and (
                turn % DRIFT_EVERY == 0
                or not _done(
                    reference_rule, into.reference.kept, len(into.reference), watch.elapsed_s
                )
            )
            self.timed_round(into, batch, turn, with_reference)
            if into.failure is not None:
                return
            series = into.clocks.precise
            turn += 1
        self._look_at_calls_alone(into, turn)
        if into.failure is not None:
            return
        self.conclude(into, batch)
        _flag_noise(into, rule)
        self._try_other_values(into)

    def _look_at_calls_alone(self, into: Measurement, turn: int) -> None:
        """More of them, while they may take longer than queued ones and too few looks are there to tell."""
        for _ in range(_MORE_ALONE):
            if "synchronises" in into.flags or not into.clocks.in_question:
                return
            outcome = self._round(into, 1, turn, self.poison, with_reference=False)["candidate"]
            into.failure = outcome.failure
            if into.failure is not None:
                return
            into.clocks.add_alone(outcome, self.floor)
            turn += 1

    def conclude(self, into: Measurement, batch: int) -> None:
        """Which clock ranks, and whether the time is in doubt; after the last timed round."""
        sampling = self.device.sampling
        into.floor_ms = sampling.floor_ms(batch, self.floor)
        into.resolution_ms = sampling.resolution_ms(batch, self.floor)
        if self.candidate.worker is not None:
            into.flags.update(self.device.notes(self.candidate.worker))
        into.flags.update(into.clocks.choose(queued="synchronises" not in into.flags))
        latency_ms = median_interval(into.candidate.counted).median
        into.doubt = (
            sampling.doubt(batch, latency_ms, into.floor_ms)
            or into.clocks.doubt()
            or _doubt_of(into.flags)
            or _chosen_samples(into.candidate, into.reference)
        )

    def take_advice(self, into: Measurement) -> None:
        """One call under the worker's own profiler, which must come after all timed ones. A claim of more work
        than the time has room for is flagged."""
        worker = self.candidate.worker
        if worker is None or into.failure is not None or not into.candidate:
            return
        run, timeout_s = Run(self.layout, 0, 1), self.candidate.limits.meet_s
        arena = self.candidate.arenas[self.layout]
        into.advice = advice = self.device.advice(worker, arena, run, timeout_s)
        latency_ms = median_interval(into.candidate.counted).median
        if advice is not None and advice.busy_ms > latency_ms * _CLAIM_FACTOR + _CLAIM_MS:
            into.flags["claims_disagree"] = (
                f"kernels ran for {advice.busy_ms:.4g} ms by the worker's own profiler, and a call takes "
                f"{latency_ms:.4g} ms"
            )

    def warm_up(self, into: Measurement) -> int:
        """Poisoned and plain calls, checked but not counted. Returns how many calls a run holds."""
        poisoned = self._round(into, 1, 0, "random", with_reference=True)
        suspicion = poisoned["candidate"].failure
        if suspicion is not None and not self._is_forgiven(suspicion, "random"):
            into.failure = suspicion
            return 1
        plain = self._round(into, 1, 1, self.poison, with_reference=True)
        into.failure = plain["candidate"].failure
        if suspicion is not None and into.failure is None:
            into.flags["relies_on_zeroed_output"] = suspicion.reason
        # The shorter of two: the first calls, or a busy machine, may take any time.
        latencies = [
            min(
                self.floor.latency_ms(outcomes[name].latency_ms, 1)
                for outcomes in (poisoned, plain)
                if name in outcomes
            )
            for name in plain
        ]
        batch = self.device.sampling.batch(min(latencies), max(latencies), self._slots)
        return self._held_at_once(
            self.candidate, min(batch, self.longest_run, self._affordable(into))
        )

    def _affordable(self, into: Measurement) -> int:
        """Calls of a run whose outputs the reference makes in good time."""
        if not into.reference or math.isinf(self.comparison_seconds):
            return self._slots
        reference_ms = median_interval(into.reference.counted).median
        calls = math.floor(1e3 * self.comparison_seconds / max(reference_ms, 1e-6))
        return min(self._slots, max(2, calls))

    def _held_at_once(self, runner: Runner, count: int) -> int:
        """So many of the calls, or fewer where the device cannot hold them."""
        worker, arena = runner.worker, runner.arenas[self.layout]
        if worker is None:
            return count
        run = Run(self.layout, 0, count)
        return self.device.most_calls(worker, arena, run, runner.limits.call_s)

    def _try_other_values(self, into: Measurement) -> None:
        """One more call, on values that the workload's distribution does not give, where the reference is
        known to be sound on them. Not timed, and no verdict: the distribution is the public workload's
        contract."""
        kinds, count = self.audits.flagging, into.calls
        if not kinds or SENSITIVE in into.flags:
            return
        kind = kinds[self.seeds.seed(count) % len(kinds)]
        outcomes = self._round(into, 1, 0, self.poison, False, {0: kind})
        failure = outcomes["candidate"].failure
        if failure is not None:
            into.flags[SENSITIVE] = f"{kind}: {failure.status}: {failure.reason}"
            if failure.fatal:
                self.candidate.stop()

    def _is_forgiven(self, failure: Failure | None, poison: Poison) -> bool:
        """On official problems a wrong number on outputs full of random bytes can only be a flag, and says
        nothing about precision."""
        if failure is None or self.poison != "zeros" or poison == "zeros":
            return False
        return failure.status == "INCORRECT_NUMERICAL" and not failure.fatal

    def timed_round(self, into: Measurement, batch: int, turn: int, with_reference: bool) -> None:
        """The runs of one sample, of the candidate and maybe of the reference."""
        sampling = self.device.sampling
        mine: dict[int, Outcome] = {}
        others: dict[int, Outcome] = {}
        lengths = sampling.lengths(batch)
        for count in lengths:
            outcomes = self._round(into, count, turn, self.poison, with_reference)
            into.readings.append(self.device.readings())
            candidate, reference = outcomes["candidate"], outcomes.get("reference")
            for gate in candidate.gates:
                into.gate = _worse(into.gate, gate)
            into.failure = candidate.failure
            if into.failure is not None:
                return
            mine[count] = candidate
            if reference is not None and reference.failure is None:
                others[count] = reference
        into.clocks.add(mine, sampling, self.floor)
        if len(others) == len(lengths):
            Clocks(by_word=into.reference).add(others, sampling, self.floor)

    def _round(
        self,
        into: Measurement,
        count: int,
        turn: int,
        poison: Poison,
        with_reference: bool,
        audits: Mapping[int, str] | None = None,
    ) -> dict[str, Outcome]:
        """One round on fresh values, the order of the two turning (A B, B A)."""
        workers = [("candidate", self.candidate)]
        with_reference = with_reference and self.device.interleaves
        if with_reference and self.reference is not None and self.reference.worker is not None:
            workers.append(("reference", self.reference))
        if turn % 2:
            workers.reverse()
        first = (turn * count) % (self._slots - count + 1)
        seeds = [self.seeds.seed(into.calls + number) for number in range(count)]
        chosen = self._audits(into, count) if audits is None else audits
        into.calls += count
        play = Round(
            self.device,
            self.oracle,
            Run(self.layout, first, count),
            seeds,
            poison,
            self.candidate.limits.call_s,
            chosen,
        )
        warm = bool(into.candidate)
        outcomes = play.play(
            [
                _participant(runner, self.layout, name == "candidate", warm)
                for name, runner in workers
            ]
        )
        named = dict(zip((name for name, _ in workers), outcomes, strict=True))
        into.audit_s = named["candidate"].audit_s or into.audit_s
        if not self._is_forgiven(named["candidate"].failure, poison):
            into.precision.merge(named["candidate"].precision)
        self._drop_failed_reference(into, named.get("reference"))
        return named

    def _audits(self, into: Measurement, count: int) -> dict[int, str]:
        """Which of the next calls are compared with float64, and the variation of each."""
        if not self.audits.allowed:
            return {}
        audits: dict[int, str] = {}
        for number in range(count):
            call = into.calls + number
            if self.seeds.is_audited(call) and self.audits.affordable(into):
                audits[number] = self.seeds.variation(call, self.audits.variations)
                into.audited.append(call)
        return audits

    def _drop_failed_reference(self, into: Measurement, outcome: Outcome | None) -> None:
        """A reference that fails in the jail is no longer timed; that is not the candidate's
        fault."""
        if outcome is None or outcome.failure is None or self.reference is None:
            return
        into.flags["reference_not_timed"] = outcome.failure.reason
        self.reference.stop()

    @property
    def _slots(self) -> int:
        return self.candidate.arenas[self.layout].layout.slots


def _participant(runner: Runner, layout: int, is_candidate: bool, warm: bool) -> Participant:
    if runner.worker is None:
        raise JailError("there is no worker to measure")
    arena = runner.arenas[layout]
    return Participant(runner.worker, arena, is_candidate or not warm, is_candidate)


def _worse(one: GateResult, other: GateResult) -> GateResult:
    """The failing one, else that with the larger errors."""
    if not other.passed:
        return other
    return other if other.max_absolute_error > one.max_absolute_error else one


def _done(rule: StopRule, kept: Sequence[float], total: int, elapsed_s: float) -> bool:
    """The rule's word on undisturbed samples; a busy machine is given up after a while."""
    crowded = elapsed_s >= _CROWDED * rule.seconds and total >= rule.least
    return crowded or rule.out_of_patience(total, elapsed_s) or rule.done(kept, elapsed_s)


def _doubt_of(flags: Mapping[str, str]) -> str:
    """Evidence that the judge's clock was not the only one at work."""
    return flags.get("shared_device", "")


def _chosen_samples(candidate: Series, reference: Series) -> str:
    """Evidence that the candidate may have had its slow samples dropped.

    Empty if that would not matter, or if the reference, which took turns with it, was disturbed about as often.

    Threads that stand in line behind one another are its own doing. Of a call whose work depends on its inputs,
    only those with the least could so be left.
    """
    share = candidate.disturbed_share
    if not reference or share <= max(_DROPPED_SHARE, 2 * reference.disturbed_share):
        return ""
    everything = [*candidate.kept, *(latency for _, latency in candidate.disturbed)]
    all_ms, counted_ms = statistics.median(everything), statistics.median(candidate.counted)
    if all_ms <= _DROPPED_FACTOR * counted_ms:
        return ""
    return (
        f"{share:.0%} of its samples stood in line for a processor and {reference.disturbed_share:.0%} of the "
        f"reference's: {counted_ms:.4g} ms without them, {all_ms:.4g} ms with them"
    )


def _drift(into: Measurement) -> str:
    """A change in the course of time of the reference, or of the device's own control; empty if none."""
    controls = {
        f"'{name}'": [reading[name] for reading in into.readings if name in reading]
        for name in _CONTROLS
    }
    for what, values in {"the reference's median": into.reference.kept, **controls}.items():
        change = drifted(values)
        if change is not None:
            return f"{what} changed by {change:+.1%} while measuring"
    return ""


def _flag_noise(into: Measurement, rule: StopRule) -> None:
    drift = _drift(into)
    if drift:
        into.flags["drift"] = drift
    busy = into.candidate.busy()
    if busy:
        into.flags["busy_machine"] = busy
    samples = into.candidate.counted
    if not rule.precise(samples):
        interval = median_interval(samples)
        into.flags["imprecise"] = (
            f"{len(samples)} samples, median {interval.median:.6g} ms, "
            f"95% interval {interval.low:.6g} to {interval.high:.6g} ms"
        )
