"""From a workload to a case that can be measured: bound, oracle, admission, buffers."""

from __future__ import annotations

from contextlib import AbstractContextManager

from solbench.errors import InputError, ReferenceFailed
from solbench.judge._bounds import BoundOrNote
from solbench.judge._device import Arena
from solbench.judge._layouts import plan_layout
from solbench.judge._oracle import Oracle
from solbench.judge._orders import Fault
from solbench.judge._request import Case, Request
from solbench.judge._sections import Section
from solbench.judge._seeds import SeedBook
from solbench.judge._session import LocalJudge
from solbench.judge._verdicts import Failure, failure_of_outputs
from solbench.judge.admission import Admission, admit
from solbench.spec import Workload, contained


class CaseOpener:
    """Opens the workloads of a request on a judge. All of the problem's own code that runs before there is a
    worker runs here."""

    def __init__(self, judge: LocalJudge, request: Request) -> None:
        self._judge = judge
        self._request = request
        self._arena: Arena | None = None
        """Of the last workload that has one."""

    def open(self, number: int, workload: Workload) -> Case:
        """A case with its bound, oracle, admission and buffers, or with the reason why there is none."""
        fault = self._request.faults.get(workload.uuid)
        replayed = self._request.replays.get(workload.uuid)
        seeds = SeedBook(replayed.secret) if replayed else SeedBook()
        # For the first bound the peaks of a CPU are measured.
        self._judge.calm()
        with self._judge.phases.within("bound"):
            bound = self._bound(number, workload, fault)
        case = Case(number, workload, bound, seeds)
        self._judge.warm_up()
        if fault is not None and fault.section is not Section.BOUND:
            case.failure = Failure("INVALID_REFERENCE", fault.reason, "spec")
            return case
        try:
            case.oracle = self._oracle(case, case.seeds)
            with self._judge.phases.within("admission"):
                case.failure = self._admit(case, case.oracle)
            if case.failure is None:
                with self._judge.phases.within("buffers"):
                    case.failure = self._lay_out(case, case.oracle)
        except (ReferenceFailed, InputError) as error:
            case.failure = Failure("INVALID_REFERENCE", str(error), "spec")
        except (MemoryError, OSError, RuntimeError) as error:
            # What torch and mmap raise where there is no room; other workloads may fit.
            reason = f"this workload cannot be prepared here: {error}"
            case.failure = Failure("INVALID_REFERENCE", reason, "prepare")
        return case

    def _bound(self, number: int, workload: Workload, fault: Fault | None) -> BoundOrNote:
        """The bound, unless the problem's code is known to hang or crash."""
        if fault is not None:
            return BoundOrNote(None, f"no bound: {fault.reason}")
        request = self._request
        # Deriving it executes the reference.
        with self._judge.sections.within(number, Section.BOUND), contained():
            return self._judge.bounds.get(request.problem, workload, request.hardware)

    def _oracle(self, case: Case, seeds: SeedBook) -> Oracle:
        def within(section: Section) -> AbstractContextManager[None]:
            return self._judge.sections.within(case.number, section)

        device, problem = self._judge.device.oracle_device, self._request.problem
        return Oracle(problem, case.workload, device, seeds.weights_seed, within)

    def _admit(self, case: Case, oracle: Oracle) -> Failure | None:
        """Whether the problem can tell right from wrong; the reference must pass its own rule.

        A public problem with a weak gate is judged all the same, with a flag: its rule is not ours.
        """

        def find() -> Admission:
            throwaway = SeedBook()
            return admit(self._oracle(case, throwaway), throwaway.seed)

        request = self._request
        case.admission = self._judge.admissions.get(request.problem, case.workload, find)
        oracle.errors = dict(case.admission.errors)
        if case.admission.passed:
            return None
        own = request.problem.definition.solbench is not None
        if own or request.require_admission or case.admission.is_unsound:
            return Failure("INVALID_REFERENCE", case.admission.reasons(), "spec")
        return None

    def _lay_out(self, case: Case, oracle: Oracle) -> Failure | None:
        """Buffers for the workload, with throwaway values; weights that may be repacked are the real
        ones."""
        device = self._judge.device
        throwaway = case.shown_seed = SeedBook().seed(0)
        inputs = oracle.inputs(throwaway)
        shown = oracle.inputs(throwaway)
        expected = oracle.expected(inputs)
        failure = failure_of_outputs(oracle.rule.sound(expected))
        if failure is not None:
            return Failure("INVALID_REFERENCE", failure.reason, "spec")
        layout = plan_layout(
            shown,
            expected,
            buffer_multiple=device.buffer_multiple,
            max_slots=device.max_slots,
            slot_budget_bytes=device.slot_budget_bytes,
            single_bytes=device.single_bytes,
        )
        case.arena = device.arena(layout, beside=self._arena)
        case.reference_arena = device.arena(layout, sharing=case.arena)
        self._arena = case.arena
        if not device.reuses_memory:
            for arena in (case.arena, case.reference_arena):
                arena.show(shown)
        return None
