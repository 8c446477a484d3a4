"""The judge in a process of its own, so that a problem's code can hang or crash it and nobody else.

References, generators of inputs, float64 and the derivation of bounds run the problem's code. It is trusted
not to lie, but not to end. They all run in the judge's process, which says on a shared page what it is in;
this side kills it when that takes too long or too much memory, calls the problem at fault
(``INVALID_REFERENCE``), and goes on with the other workloads in a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from solbench.errors import DeviceError, InputError, JudgeDied
from solbench.judge._link import Ended, Link, ReferenceLimits, Stopped
from solbench.judge._orders import (
    AdmissionOrder,
    AnyOrder,
    ComparisonOrder,
    Fault,
    Order,
    Verdict,
    chosen_workloads,
    require_kind,
    result_of,
)
from solbench.judge._phases import Phase
from solbench.judge._replay import Replay, replay_of, replay_result
from solbench.judge._results import EvaluationResult, Mode, Options
from solbench.judge._setup import Coming, Setup, Start
from solbench.spec import Problem, Solution, Trace, Workload

if TYPE_CHECKING:
    from solbench.jail import Limits
    from solbench.judge._compare import Comparison
    from solbench.judge._statistics import Budget
    from solbench.judge.admission import Admission


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back for an order."""

    found: Mapping[str, Any]
    """Workload → its answer."""
    phases: tuple[Phase, ...]


class Judge:
    """Evaluates solutions on one device. A context manager; reuse it, since starting costs seconds.

    ``budgets``: the device's own by default. ``hot`` leaves caches as they are; such times are recorded as
    hot and never verified. ``rules``: folders of operator rules for bounds (``solbench.bound.load_rules``);
    they run in the judge's process with your rights, and traces tell their digest. ``coming``: what will be
    evaluated first, if you know it: that solution is built while the judge starts.

    Zygote, clock, bounds, admissions and the reference's times stay warm between solutions. Threads may share
    it: evaluations then queue. Raises ``InputError`` for a name that is no device's, ``DeviceError`` for a
    device that is missing.
    """

    def __init__(
        self,
        device: str = "cpu",
        *,
        budgets: Mapping[str, Budget] | None = None,
        hot: bool = False,
        rules: Sequence[Path | str] = (),
        reference_limits: ReferenceLimits | None = None,
        coming: tuple[Problem, Solution] | None = None,
    ) -> None:
        folders = tuple(str(Path(folder).resolve()) for folder in rules)
        self._setup = Setup(device, budgets, hot, folders)
        self._coming = _coming(coming)
        self._limits = reference_limits or ReferenceLimits()
        self._lock = threading.Lock()
        self._process: Link | None = None
        self._phases: tuple[Phase, ...] = ()
        """Of what was done since an evaluation took them."""
        self._closed = False
        if find_spec("torch") is None:
            raise DeviceError("PyTorch is not installed: 'solbench doctor' says how to get it")
        self._running()

    @property
    def device(self) -> str:
        """Its name."""
        return self._setup.device

    def evaluate(
        self,
        problem: Problem,
        solution: Solution,
        *,
        workloads: Sequence[str] | None = None,
        on_trace: Callable[[Trace], None] | None = None,
        **options: Unpack[Options],
    ) -> EvaluationResult:
        """See :func:`solbench.judge.evaluate`, whose options it takes."""
        require_kind("problem", problem, Problem)
        require_kind("solution", solution, Solution)
        chosen = chosen_workloads(problem, workloads)
        return self._evaluate(problem, solution, chosen, on_trace, options, threading.Event())

    def _evaluate(
        self,
        problem: Problem,
        solution: Solution,
        workloads: Sequence[Workload],
        on_trace: Callable[[Trace], None] | None,
        options: Options,
        stop: threading.Event,
    ) -> EvaluationResult:
        def order(missing: tuple[str, ...], faults: Mapping[str, Fault]) -> Order:
            return Order(problem, solution, missing, options, faults)

        def keep(verdict: Verdict) -> None:
            if on_trace is not None:
                on_trace(verdict.trace)

        answers = self._answers(workloads, order, keep, stop)
        return result_of(workloads, list(answers.found.values()), answers.phases)

    def replay(self, trace: Trace, problem: Problem, solution: Solution) -> Replay:
        """Repeat a verdict with the seeds that the trace tells. Raises ``InputError`` if the trace is of
        another problem or solution, or its seeds are not those it committed to."""
        uuid, replayed, options = replay_of(trace, problem, solution)

        def order(missing: tuple[str, ...], faults: Mapping[str, Fault]) -> Order:
            return Order(problem, solution, missing, options, faults, {uuid: replayed})

        verdicts = self._answers(chosen_workloads(problem, [uuid]), order).found
        return replay_result(trace, verdicts[uuid].trace)

    def admit(
        self,
        problem: Problem,
        *,
        workloads: Sequence[str] | None = None,
        on_admission: Callable[[Admission], None] | None = None,
    ) -> tuple[Admission, ...]:
        """Whether the problem's gate can tell right answers from answers that take no work, by workload."""
        require_kind("problem", problem, Problem)
        chosen = chosen_workloads(problem, workloads)

        def order(missing: tuple[str, ...], faults: Mapping[str, Fault]) -> AdmissionOrder:
            return AdmissionOrder(problem, missing, faults)

        found = self._answers(chosen, order, on_admission).found
        return tuple(found[each.uuid] for each in chosen)

    def compare(
        self,
        problem: Problem,
        first: Solution,
        second: Solution,
        *,
        workloads: Sequence[str] | None = None,
        on_comparison: Callable[[Comparison], None] | None = None,
        **options: Unpack[Options],
    ) -> tuple[Comparison, ...]:
        """Two solutions side by side, interleaved: by workload, which is faster and by how much."""
        require_kind("problem", problem, Problem)
        for solution in (first, second):
            require_kind("solution", solution, Solution)
        chosen = chosen_workloads(problem, workloads)

        def order(missing: tuple[str, ...], faults: Mapping[str, Fault]) -> ComparisonOrder:
            return ComparisonOrder(problem, first, second, missing, options, faults)

        found = self._answers(chosen, order, on_comparison).found
        return tuple(found[each.uuid] for each in chosen)

    def evaluate_many(
        self, problem: Problem, solutions: Sequence[Solution], **options: Unpack[Options]
    ) -> Iterator[EvaluationResult]:
        """Evaluate several solutions of one problem, in order, each as it is asked for."""
        for solution in solutions:
            yield self.evaluate(problem, solution, **options)

    async def aevaluate(
        self,
        problem: Problem,
        solution: Solution,
        *,
        workloads: Sequence[str] | None = None,
        on_trace: Callable[[Trace], None] | None = None,
        **options: Unpack[Options],
    ) -> EvaluationResult:
        """``evaluate`` for asynchronous callers. One that is cancelled ends its evaluation; ``on_trace`` is
        called in another thread."""
        require_kind("problem", problem, Problem)
        require_kind("solution", solution, Solution)
        chosen, stop = chosen_workloads(problem, workloads), threading.Event()
        work = asyncio.ensure_future(
            asyncio.to_thread(self._evaluate, problem, solution, chosen, on_trace, options, stop)
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.set()
            with contextlib.suppress(Stopped):
                await work
            raise

    def _answers(
        self,
        workloads: Sequence[Workload],
        make_order: Callable[[tuple[str, ...], Mapping[str, Fault]], AnyOrder],
        listener: Callable[[Any], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Answers:
        """An answer for every workload. One whose problem's code does not come back is ordered once more, as
        at fault, with those that are still missing."""
        answers: dict[str, Any] = {}
        faults: dict[str, Fault] = {}

        def keep(uuid: str, answer: Any) -> None:
            answers[uuid] = answer
            if listener is not None:
                listener(answer)

        died = False
        with self._lock:
            while missing := tuple(each.uuid for each in workloads if each.uuid not in answers):
                if stop is not None and stop.is_set():
                    raise Stopped
                ended = self._obeyed(make_order(missing, faults), keep, stop or threading.Event())
                if ended is None:
                    continue
                if ended.entered is not None:
                    uuid = missing[ended.entered.workload]
                    faults[uuid] = Fault(ended.entered.section, ended.words)
                elif died:
                    raise JudgeDied(f"the judge's process ended twice: it {ended.reason}")
                died = died or ended.entered is None
            phases, self._phases = self._phases, ()
        return Answers(answers, phases)

    def _obeyed(
        self, order: AnyOrder, keep: Callable[[str, Any], None], stop: threading.Event
    ) -> Ended | None:
        process = self._running()
        try:
            ended = process.obey(order, keep, self._limits, stop)
        except BaseException:
            # If the listener raised, or the user interrupts, nothing must go on behind their back.
            if process.busy:
                self._abandon()
            raise
        self._phases += process.phases
        if ended is not None:
            self._abandon()
        return ended

    def _running(self) -> Link:
        if self._closed:
            raise InputError("this judge is closed", remedy="Make another one.")
        if self._process is None:
            coming, self._coming = self._coming, None
            self._process = Link(Start(self._setup, coming))
            try:
                self._process.await_ready()
            except BaseException:
                self._abandon()
                raise
            self._phases += self._process.phases
        return self._process

    def _abandon(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the judge's process and everything it started. Idempotent."""
        self._closed = True
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _coming(named: tuple[Problem, Solution] | None) -> Coming | None:
    if named is None:
        return None
    problem, solution = named
    require_kind("problem", problem, Problem)
    require_kind("solution", solution, Solution)
    return Coming(problem.definition, solution)


def evaluate(
    problem: Problem,
    solution: Solution,
    *,
    device: str = "cpu",
    workloads: Sequence[str] | None = None,
    hardware: str | None = None,
    mode: Mode = "reward",
    require_jail: bool = False,
    require_admission: bool = False,
    hot: bool = False,
    limits: Limits | None = None,
    timeout_s: float | None = None,
    profile: bool = False,
    rules: Sequence[Path | str] = (),
    on_trace: Callable[[Trace], None] | None = None,
    judge: Judge | None = None,
) -> EvaluationResult:
    """Build, run, check, time and score a solution in the jail.

    ``workloads``: uuids, all by default. ``hardware``: whose bound to score against, by default the
    device's own. ``mode``: ``reward`` is quick; ``rank`` takes several fresh workers and more
    samples. ``require_jail``: raise ``JailError`` where a layer of the jail is missing, in place of
    a flag. ``require_admission``: refuse public problems too whose gate lets answers pass that take no
    work; without it that is a flag. ``hot``: leave caches as they are; such times are never verified.
    ``limits``: of each worker. ``timeout_s``: of one call, what it compiles included. ``profile``: one more
    call of each workload under the worker's own profiler, whose words are in the trace's ``advice``. ``rules``:
    folders of operator rules of your own for the bound. ``on_trace`` is called with every trace as it comes.
    ``judge``: a warm one; its device and rules then count, and whether it is hot.

    Whatever the submission does is a verdict and never an exception; so is whatever the problem's own
    code does. Raises ``InputError`` for a request that is wrong (an unknown workload, hardware or
    device), ``JailError`` and ``DeviceError`` for what the machine lacks.
    """
    options = Options(
        hardware=hardware,
        mode=mode,
        require_jail=require_jail,
        require_admission=require_admission,
        limits=limits,
        timeout_s=timeout_s,
        profile=profile,
    )
    with contextlib.ExitStack() as made:
        if judge is None:
            require_kind("problem", problem, Problem)
            chosen_workloads(problem, workloads)  # what is wrong is told before a judge is started
            judge = Judge(device, hot=hot, rules=rules, coming=(problem, solution))
            made.enter_context(judge)
        return judge.evaluate(problem, solution, workloads=workloads, on_trace=on_trace, **options)
