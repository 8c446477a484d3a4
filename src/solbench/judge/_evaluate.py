"""One evaluation from request to traces. Every workload gets its verdict, whatever happens to the
others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import replace

from solbench.errors import BuildError, InputError, JailError, ReferenceFailed
from solbench.jail import Walls, build
from solbench.jail.protocol import Artifact
from solbench.judge._builds import Building, refusal
from solbench.judge._device import Poison
from solbench.judge._floor import NO_FLOOR
from solbench.judge._measure import Bench
from solbench.judge._measurement import Audits, Measurement
from solbench.judge._opening import CaseOpener
from solbench.judge._oracle import Oracle
from solbench.judge._orders import Verdict
from solbench.judge._reference import reference_solution
from solbench.judge._request import Case, Request
from solbench.judge._runner import Runner, limits_for
from solbench.judge._seeds import SeedBook
from solbench.judge._session import LocalJudge
from solbench.judge._statistics import QUICK_START_S, StopRule
from solbench.judge._traces import make_trace, score_of, solbench_version
from solbench.judge._verdicts import Failure
from solbench.judge._workload_result import Circumstances, missing_layers, workload_result
from solbench.judge.guard import review, review_artifact
from solbench.spec import Environment, workload_digest


class EvaluationRun:
    """Carries one request through. Call :meth:`run` once."""

    def __init__(self, judge: LocalJudge, request: Request) -> None:
        self._judge = judge
        self._request = request
        self.cases: list[Case] = []
        self._artifact: Artifact | None = None
        self._candidate: Runner | None = None
        self._reference: Runner | None = None
        self._floor = NO_FLOOR
        self._slowest_start_s = 0.0
        """Of the candidate's workers."""
        self._environment = Environment(
            hardware=judge.device.title(),
            libs={**judge.device.libraries(), "solbench": solbench_version()},
        )
        self._findings = review(request.solution, request.problem.definition)

    def run(self) -> None:
        """Evaluate. Workers and buffers are gone when it returns or raises, on an interrupt too."""
        try:
            self._run()
        finally:
            self.close()

    def _run(self) -> None:
        phases = self._judge.phases
        open_cases = self.open()
        with phases.within("reference"):
            self._time_references(open_cases)
        number = 1
        while any(case.trace is None for case in open_cases):
            with phases.within("candidate"):
                self._one_pass(open_cases, first=number == 1, last=number >= self._workers())
            number += 1

    def _workers(self) -> int:
        """How many take part; more where the first ones started quickly."""
        budget = self._request.budget
        return budget.workers + (budget.more_workers if self.starts_quickly else 0)

    @property
    def starts_quickly(self) -> bool:
        """Another of the candidate's workers costs little."""
        return self._slowest_start_s <= QUICK_START_S

    def open(self) -> list[Case]:
        """Build, lay out and start; the cases that have no verdict yet."""
        failure = self._build_and_open()
        for case in self.cases:
            case.failure = case.failure or failure
            if case.failure is not None:
                self._emit(case)
        open_cases = [case for case in self.cases if case.trace is None]
        if open_cases:
            self._start_runners(open_cases)
        return open_cases

    def _build_and_open(self) -> Failure | None:
        """Why there is no artifact. A compiler runs while the problem is looked at, where that does not disturb
        what is measured there."""
        request, device = self._request, self._judge.device
        wrong = refusal(request.solution, request.problem.definition, device.name)
        if wrong is not None:
            self._judge.builds.settle()
            self._open_cases()
            return Failure("COMPILE_ERROR", wrong, "spec")
        building = self._judge.builds.take(request.solution)
        try:
            if device.shares_cores:
                wait([building])
            self._open_cases()
        finally:
            wait([building])
        return self._built(building)

    def _open_cases(self) -> None:
        opener = CaseOpener(self._judge, self._request)
        self.cases = [
            opener.open(number, workload) for number, workload in enumerate(self._request.workloads)
        ]

    def _built(self, building: Building) -> Failure | None:
        try:
            self._artifact = building.result()
        except BuildError as error:
            reason = f"{error.first_error}\n{error.log}" if error.log else error.first_error
            return Failure("COMPILE_ERROR", reason, "build")
        self._findings += review_artifact(self._artifact)
        return None

    def _show(self, case: Case) -> None:
        """Let its slots hold throwaway values again, where another workload's may lie by now."""
        if self._judge.device.reuses_memory:
            assert case.oracle is not None and case.arena is not None
            case.arena.show(case.oracle.inputs(case.shown_seed))

    def _start_runners(self, cases: Sequence[Case]) -> None:
        assert self._artifact is not None
        for number, case in enumerate(cases):
            case.layout = number
        arenas = [case.arena for case in cases if case.arena is not None]
        reference_arenas = [
            case.reference_arena for case in cases if case.reference_arena is not None
        ]
        request = self._request
        limits = limits_for(self._judge.device, arenas, request.limits, request.timeout_s)
        judge = self._judge
        # The clock is calibrated before there is a submission that could disturb it.
        self._floor = judge.floor

        def show(layout: int) -> None:
            self._show(cases[layout])

        self._candidate = Runner(judge.zygote, judge.device, self._artifact, arenas, limits, show)
        reference = build(reference_solution(self._request.problem), judge.device.name)
        self._reference = Runner(
            judge.zygote,
            judge.device,
            reference,
            reference_arenas,
            limits_for(judge.device, arenas, None),
            show,
        )

    def _time_references(self, cases: Sequence[Case]) -> None:
        """By themselves, where they do not take turns with the candidate, and before it exists: it cannot slow
        them down or leave them no memory. Seeds are others than the candidate's."""
        if self._judge.device.interleaves or self._reference is None:
            return
        unknown = [case for case in cases if not self._recall_reference(case)]
        for position, case in enumerate(unknown):
            self._time_reference(case, [each.layout for each in unknown[position:]])
        self._reference.stop()

    def _time_reference(self, case: Case, wanted: Sequence[int]) -> None:
        reference, alone = self._reference, Measurement()
        assert reference is not None and case.oracle is not None
        rule = self._request.budget.reference_rule
        try:
            reference.ensure(wanted)
            if reference.worker is None or case.layout in reference.failures:
                return
            self._show(case)
            Bench(
                device=self._judge.device,
                oracle=case.oracle,
                seeds=SeedBook(),
                floor=self._floor,
                candidate=reference,
                reference=None,
                layout=case.layout,
                poison=self._poison,
            ).measure(alone, rule, rule)
        except (ReferenceFailed, InputError) as error:
            case.failure = Failure("INVALID_REFERENCE", str(error), "compare")
            self._emit(case)
            return
        if alone.failure is None:
            case.measurement.reference = alone.clocks.precise
        else:
            case.measurement.flags["reference_not_timed"] = alone.failure.reason
            reference.stop()

    @property
    def _poison(self) -> Poison:
        """The public rule promises zeroed outputs; our own problems promise nothing."""
        return "zeros" if self._request.problem.definition.solbench is None else "random"

    def _one_pass(self, cases: Sequence[Case], *, first: bool, last: bool) -> None:
        """Measure every open workload on one worker, replaced only after a death."""
        assert self._candidate is not None
        advised = first and self._is_advised(last)
        for position, case in enumerate(cases):
            if case.trace is not None:
                continue
            wanted = [each.layout for each in cases[position:] if each.trace is None]
            self._measure(case, wanted)
            self.rest(case)
            if case.failure is not None or (last and not advised):
                self._emit(case)
        if advised:
            self._take_advice(cases)
        for case in cases:
            if last and case.trace is None:
                self._emit(case)
        self.end_worker()

    def _is_advised(self, last: bool) -> bool:
        """Whether the first worker is asked what its calls are made of, once nothing else is left to do with
        it."""
        if last:
            return self._request.profile and self._request.budget.workers == 1
        return self._request.profile or self._judge.device.names_kernels

    def _take_advice(self, cases: Sequence[Case]) -> None:
        """From a worker that is not needed any more."""
        for case in cases:
            candidate = self._candidate
            if case.trace is None and candidate is not None and candidate.worker is not None:
                bench = self.bench(case, [case.layout])
                if bench is not None:
                    bench.take_advice(case.measurement)

    def _measure(self, case: Case, wanted: Sequence[int]) -> None:
        bench = self.bench(case, wanted)
        if bench is None:
            return
        measured, budget = case.measurement, self._request.budget
        try:
            bench.measure(measured, self._rule(), budget.reference_rule)
        except ReferenceFailed as error:
            case.failure = Failure("INVALID_REFERENCE", str(error), "compare")
            return
        case.failure = measured.failure
        self._remember_reference(case)
        if case.failure is None:
            assert case.oracle is not None and self._reference is not None
            _fall_back(measured, case.oracle, self._reference.failures.get(case.layout))

    def _rule(self) -> StopRule:
        """Fewer workers measure longer."""
        budget = self._request.budget
        if self.starts_quickly:
            return budget.rule
        share = 1 + budget.more_workers / budget.workers
        return replace(budget.rule, seconds=share * budget.rule.seconds)

    def bench(self, case: Case, wanted: Sequence[int]) -> Bench | None:
        """What a case is measured with, workers ready; ``None`` if the candidate cannot be made ready.

        ``wanted``: layouts that a new worker is to meet.
        """
        candidate, reference = self._candidate, self._reference
        assert candidate is not None and reference is not None and case.oracle is not None
        try:
            began = time.perf_counter()
            candidate.ensure(wanted)
            self._slowest_start_s = max(self._slowest_start_s, time.perf_counter() - began)
            self._show(case)
        except (ReferenceFailed, InputError) as error:  # inputs that could be made before
            case.failure = Failure("INVALID_REFERENCE", str(error), "spec")
            return None
        self._check_jail(candidate.walls, candidate.worker is not None)
        case.failure = candidate.failures.get(case.layout)
        if case.failure is not None:
            return None
        interleaves = self._judge.device.interleaves
        if interleaves:
            self._recall_reference(case)
            reference.ensure(wanted)
        replayed = self._request.replays.get(case.workload.uuid)
        return Bench(
            device=self._judge.device,
            oracle=case.oracle,
            seeds=case.seeds,
            floor=self._floor,
            candidate=candidate,
            reference=reference if interleaves and case.layout not in reference.failures else None,
            layout=case.layout,
            poison=self._poison,
            audits=self._audits(case),
            least_calls=replayed.calls if replayed else 0,
            comparison_seconds=self._request.budget.comparison_seconds,
            longest_run=self._request.budget.longest_run,
        )

    def _recall_reference(self, case: Case) -> bool:
        """Take over the reference's times of an earlier evaluation, if there are any."""
        known, measured = self._judge.references.get(self._key(case)), case.measurement
        if measured.candidate or known is None:
            return False
        measured.reference = known.copy()
        return True

    def _key(self, case: Case) -> tuple[str, str]:
        return self._request.problem.digest, workload_digest(case.workload)

    def _audits(self, case: Case) -> Audits:
        if case.admission is None or not case.admission.has_truth:
            return Audits()
        own, budget = self._request.problem.definition.solbench, self._request.budget
        audits = Audits(True, sure=budget.sure_audits, seconds=budget.audit_seconds)
        if own is None:
            return replace(audits, flagging=case.admission.variations)
        kinds = tuple(kind for kind, names in own.variations.items() if names)
        return replace(audits, variations=kinds)

    def _remember_reference(self, case: Case) -> None:
        """Keep the reference's times for later evaluations, unless the machine is drifting or busy."""
        measured, key = case.measurement, self._key(case)
        if "drift" in measured.flags or measured.reference.busy():
            self._judge.references.pop(key, None)
        else:
            self._judge.references[key] = measured.reference.copy()

    def _check_jail(self, walls: Walls, sealed: bool) -> None:
        if sealed and self._request.require_jail and not walls.complete:
            raise JailError(f"the jail is not complete: {missing_layers(walls)}")

    def _emit(self, case: Case) -> None:
        """Write the trace, give it to the listener, and let go of the buffers."""
        result = workload_result(case, self._circumstances())
        score = score_of(result)
        case.trace = make_trace(result, score, self._environment)
        self._request.tell(Verdict(case.trace, score))

    def _circumstances(self) -> Circumstances:
        return Circumstances(
            self._request,
            self._judge.device,
            self._judge.rules_digest,
            self._artifact,
            self._candidate,
            self._findings,
        )

    def rest(self, case: Case) -> None:
        """After a case: a worker that cannot be used any more is ended."""
        failure, candidate = case.failure, self._candidate
        if failure is None or candidate is None:
            return
        sticks = self._judge.device.errors_stick and failure.status == "RUNTIME_ERROR"
        if failure.fatal or sticks:
            candidate.stop()

    def end_worker(self) -> None:
        """The next case meets a new one of the candidate."""
        if self._candidate is not None:
            self._candidate.stop()

    def close(self) -> None:
        """Let go of workers and buffers. Idempotent."""
        for runner in (self._candidate, self._reference):
            if runner is not None:
                runner.stop()
        for case in self.cases:
            for arena in (case.arena, case.reference_arena):
                if arena is not None:
                    arena.close()


def _fall_back(measured: Measurement, oracle: Oracle, failure: Failure | None) -> None:
    """Where the reference could not be timed in the jail, say so and give its time in the judge's
    process."""
    if measured.reference:
        return
    reason = measured.flags.get("reference_not_timed") or (failure.reason if failure else "")
    measured.flags["reference_not_timed"] = (
        f"timed in the judge's own process instead, caches warm; in the jail: {reason}"
    )
    measured.fallback_reference_ms = 1e3 * min(oracle.seconds[1:], default=oracle.seconds[0])
