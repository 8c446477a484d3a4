"""The judge in this process: keeps a zygote, a calibrated clock and what it knows of problems warm."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from solbench.bound import load_rules, rules_digest
from solbench.errors import InputError, JailError
from solbench.jail import Zygote, start_zygote
from solbench.judge._admissions import AdmissionBook
from solbench.judge._bounds import BoundBook
from solbench.judge._builds import Builds
from solbench.judge._device import Device, open_device
from solbench.judge._floor import EmptyWorker, TimerFloor, measure_floor
from solbench.judge._orders import (
    AdmissionOrder,
    AnyOrder,
    ComparisonOrder,
    Order,
    Verdict,
    chosen_workloads,
    result_of,
)
from solbench.judge._phases import Phases
from solbench.judge._results import EvaluationResult, Options
from solbench.judge._samples import Series
from solbench.judge._sections import Sections, Unwatched
from solbench.judge._statistics import Budget
from solbench.spec import Problem, Solution, Trace

if TYPE_CHECKING:
    from solbench.judge._compare import Comparison
    from solbench.judge._request import Request
    from solbench.judge.admission import Admission

Answer = Any
"""A ``Verdict``, an ``Admission`` or a ``Comparison``, by the order."""


class LocalJudge:
    """Evaluates solutions on one device. A context manager; reuse it, since starting costs seconds.

    A problem's own code runs in the same process: one that never returns holds it for ever. Callers that
    have not chosen their problems use ``solbench.judge.Judge``, which puts this one in a process of its own.
    """

    def __init__(
        self,
        device: str = "cpu",
        *,
        budgets: Mapping[str, Budget] | None = None,
        hot: bool = False,
        rules: Sequence[Path | str] = (),
        sections: Sections | None = None,
        zygote: Zygote | None = None,
        builds: Builds | None = None,
        phases: Phases | None = None,
    ) -> None:
        """``budgets``: the device's own by default. ``hot`` leaves caches as they are; such times are recorded
        as hot and never verified. ``rules``: folders of operator rules, loaded into this process for
        good; traces tell their digest. ``sections`` is told when the problem's own code runs. ``zygote``:
        one that has been started; it is closed with this judge. ``builds`` may have begun one already;
        ``phases``: where the time goes is noted there."""
        self.rules_digest = rules_digest(rules)
        for folder in rules:
            load_rules(folder)
        self.device: Device = open_device(device, hot=hot)
        self._budgets = budgets or self.device.budgets
        self.sections = sections or Unwatched()
        self.phases = phases or Phases()
        self.builds = builds or Builds(self.device.name, self.phases)
        self.bounds = BoundBook()
        self.admissions = AdmissionBook(self.device.title())
        self.references: dict[tuple[str, str], Series] = {}
        """Latencies of references already timed, by problem and workload digest."""
        self._zygote = zygote
        self._floor: TimerFloor | None = None
        self._empty: EmptyWorker | None = None

    @property
    def zygote(self) -> Zygote:
        """Started on first use."""
        if self._zygote is None:
            self._zygote = start_zygote()
        return self._zygote

    def warm_up(self) -> None:
        """Start the zygote, if it has not been: it imports torch while its caller goes on. Where a worker takes
        a while to come up, start the one that the clock needs first as well."""
        self._zygote = self.zygote
        if self.device.queues and self._floor is None and self._empty is None:
            # What fails here fails again where it is needed; a solution that does not build needs no clock.
            with contextlib.suppress(JailError, MemoryError, OSError, RuntimeError):
                self._empty = EmptyWorker(self._zygote, self.device)

    def calm(self) -> None:
        """Where it would take a core from what is measured, wait for a zygote that still imports torch."""
        if self.device.shares_cores and self._zygote is not None:
            with self.phases.within("zygote"):
                self._zygote.await_ready()

    @property
    def floor(self) -> TimerFloor:
        """Measured on first use."""
        if self._floor is None:
            empty, self._empty = self._empty, None
            self._floor = measure_floor(self.zygote, self.device, self.phases, empty)
        return self._floor

    def evaluate(
        self,
        problem: Problem,
        solution: Solution,
        *,
        workloads: Sequence[str] | None = None,
        on_trace: Callable[[Trace], None] | None = None,
        **options: Unpack[Options],
    ) -> EvaluationResult:
        """See :func:`solbench.judge.evaluate`. The problem's own code runs in this process, unlimited."""
        verdicts: list[Verdict] = []

        def keep(verdict: Verdict) -> None:
            verdicts.append(verdict)
            if on_trace is not None:
                on_trace(verdict.trace)

        chosen = chosen_workloads(problem, workloads)
        uuids = tuple(each.uuid for each in chosen)
        self.carry_out(Order(problem, solution, uuids, options), keep)
        return result_of(chosen, verdicts, self.phases.take())

    def carry_out(self, order: AnyOrder, tell: Callable[[Answer], None]) -> None:
        """Do as ordered and tell each workload's answer when it is there."""
        if isinstance(order, AdmissionOrder):
            self.builds.settle()
            self._admit(order, tell)
        elif isinstance(order, ComparisonOrder):
            self._compare(order, tell)
        else:
            from solbench.judge._evaluate import EvaluationRun

            EvaluationRun(self, self._request(order, tell)).run()

    def _request(self, order: Order, tell: Callable[[Verdict], None]) -> Request:
        from solbench.judge._request import Request

        options = order.options
        mode = options.get("mode", "reward")
        return Request(
            problem=order.problem,
            solution=order.solution,
            workloads=tuple(order.problem.workload(uuid) for uuid in order.workloads),
            faults=order.faults,
            replays=order.replays,
            hardware=options.get("hardware") or self.device.hardware(),
            mode=mode,
            budget=self._budget(mode),
            require_jail=options.get("require_jail", False),
            require_admission=options.get("require_admission", False),
            limits=options.get("limits"),
            timeout_s=options.get("timeout_s"),
            profile=options.get("profile", False),
            tell=tell,
        )

    def _budget(self, mode: str) -> Budget:
        if mode not in self._budgets:
            known = ", ".join(self._budgets)
            raise InputError(f"there is no mode '{mode}'", key="mode", remedy=f"Known: {known}.")
        return self._budgets[mode]

    def _admit(self, order: AdmissionOrder, tell: Callable[[Admission], None]) -> None:
        from solbench.judge._admissions import admit_workload

        for number, uuid in enumerate(order.workloads):
            workload = order.problem.workload(uuid)
            tell(admit_workload(self, order.problem, workload, number, order.faults.get(uuid)))

    def _compare(self, order: ComparisonOrder, tell: Callable[[Comparison], None]) -> None:
        from solbench.judge._compare import compare_runs
        from solbench.judge._evaluate import EvaluationRun

        def ignore(verdict: Verdict) -> None:
            """What becomes of each side is told with the comparison."""

        runs = [
            EvaluationRun(
                self,
                self._request(
                    Order(order.problem, solution, order.workloads, order.options, order.faults),
                    ignore,
                ),
            )
            for solution in (order.first, order.second)
        ]
        budget = self._budget(order.options.get("mode", "reward"))
        compare_runs(runs[0], runs[1], budget, tell)

    def close(self) -> None:
        """End the zygote and everything it started. Idempotent."""
        if self._empty is not None:
            self._empty.close()
            self._empty = None
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None
        self.device.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
