"""The judge in a process of its own, so that a problem's code can hang or crash it and nobody else.

References, generators of inputs, float64 and the derivation of bounds run the problem's code. It is trusted
not to lie, but not to end. They all run in the judge's process, which says on a shared page what it is in;
this side kills it when that takes too long or too much memory, calls the problem at fault
(``INVALID_REFERENCE``), and goes on with the other workloads in a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from solbench.errors import InputError, JudgeDied
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
from solbench.judge._replay import Replay, replay_of, replay_result
from solbench.judge._results import EvaluationResult, Mode, Options
from solbench.judge._sections import NAMES, Entered, Section, SectionPage
from solbench.spec import Problem, Solution, Trace, Workload

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from solbench.jail import Limits
    from solbench.judge._compare import Comparison
    from solbench.judge._statistics import Budget
    from solbench.judge.admission import Admission

_START_S = 180.0
"""A cold import of torch from a slow disk, and a CUDA context."""
_CLOSE_S = 5.0
_LOOK_S = 0.1
_BOOTSTRAP = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from solbench.judge._service import main; main(*map(int, sys.argv[2:5]))"
)


@dataclass(frozen=True, slots=True)
class ReferenceLimits:
    """What a problem's own code may take, each time that it runs."""

    reference_s: float = 120.0
    """The reference, in float64 too, and the generator of inputs."""
    bound_s: float = 300.0
    """The derivation of a bound; without one there is no score, but a verdict."""
    memory_share: float = 0.75
    """Resident memory of the judge, of that of the machine."""


class Judge:
    """Evaluates solutions on one device. A context manager; reuse it, since starting costs seconds.

    ``budgets``: the device's own by default. ``hot`` leaves caches as they are; such times are recorded as
    hot and never verified. Zygote, clock, bounds, admissions and the reference's times stay warm between
    solutions. Raises ``InputError`` for a name that is no device's, ``DeviceError`` for a device that is
    missing. Threads may share it: evaluations then queue.
    """

    def __init__(
        self,
        device: str = "cpu",
        *,
        budgets: Mapping[str, Budget] | None = None,
        hot: bool = False,
        reference_limits: ReferenceLimits | None = None,
    ) -> None:
        self.device = device
        self._budgets = budgets
        self._hot = hot
        self._limits = reference_limits or ReferenceLimits()
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._closed = False
        self._running()

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

        def order(missing: tuple[str, ...], faults: Mapping[str, Fault]) -> Order:
            return Order(problem, solution, missing, options, faults)

        def keep(verdict: Verdict) -> None:
            if on_trace is not None:
                on_trace(verdict.trace)

        verdicts = self._answers(chosen, order, keep)
        return result_of(chosen, list(verdicts.values()))

    def replay(self, trace: Trace, problem: Problem, solution: Solution) -> Replay:
        """Repeat a verdict with the seeds that the trace tells. Raises ``InputError`` if the trace is of
        another problem or solution, or its seeds are not those it committed to."""
        uuid, replayed, options = replay_of(trace, problem, solution)

        def order(missing: tuple[str, ...], faults: Mapping[str, Fault]) -> Order:
            return Order(problem, solution, missing, options, faults, {uuid: replayed})

        verdicts = self._answers(chosen_workloads(problem, [uuid]), order)
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

        found = self._answers(chosen, order, on_admission)
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

        found = self._answers(chosen, order, on_comparison)
        return tuple(found[each.uuid] for each in chosen)

    def evaluate_many(
        self, problem: Problem, solutions: Sequence[Solution], **options: Unpack[Options]
    ) -> Iterator[EvaluationResult]:
        """Evaluate several solutions of one problem, in order, each as it is asked for."""
        for solution in solutions:
            yield self.evaluate(problem, solution, **options)

    async def aevaluate(
        self, problem: Problem, solution: Solution, **options: Unpack[Options]
    ) -> EvaluationResult:
        """``evaluate`` for asynchronous callers. One that is cancelled ends the evaluation at once."""
        work = asyncio.ensure_future(
            asyncio.to_thread(lambda: self.evaluate(problem, solution, **options))
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._abandon()
            with contextlib.suppress(JudgeDied, asyncio.CancelledError):
                await work
            raise

    def _answers(
        self,
        workloads: Sequence[Workload],
        make_order: Callable[[tuple[str, ...], Mapping[str, Fault]], AnyOrder],
        listener: Callable[[Any], None] | None = None,
    ) -> dict[str, Any]:
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
                ended = self._obeyed(make_order(missing, faults), keep)
                if ended is None:
                    continue
                if ended.entered is not None:
                    uuid = missing[ended.entered.workload]
                    faults[uuid] = Fault(ended.entered.section, ended.words)
                elif died:
                    raise JudgeDied(f"the judge's process ended twice: it {ended.reason}")
                died = died or ended.entered is None
        return answers

    def _obeyed(self, order: AnyOrder, keep: Callable[[str, Any], None]) -> _Ended | None:
        process = self._running()
        try:
            ended = process.obey(order, keep, self._limits)
        except BaseException:
            # If the listener raised, or the user interrupts, nothing must go on behind their back.
            if process.busy:
                self._abandon()
            raise
        if ended is not None:
            self._abandon()
        return ended

    def _running(self) -> _Process:
        if self._closed:
            raise InputError("this judge is closed", remedy="Make another one.")
        if self._process is None:
            self._process = _Process(self.device, self._budgets, self._hot)
            try:
                self._process.await_ready()
            except BaseException:
                self._abandon()
                raise
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


@dataclass(frozen=True, slots=True)
class _Ended:
    """A judge's process that is gone, or has to go."""

    reason: str
    entered: Entered | None

    @property
    def words(self) -> str:
        assert self.entered is not None
        return f"{NAMES[self.entered.section]} {self.reason}"


class _Process:
    """One judge's process and the channel to it."""

    def __init__(self, device: str, budgets: Mapping[str, Budget] | None, hot: bool) -> None:
        self._channel: Connection
        self._channel, theirs = Pipe()
        page = SectionPage.create()
        lifeline, self._lifeline = os.pipe()
        inherited = (theirs.fileno(), page, lifeline)
        self._popen = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP, json.dumps(sys.path), *map(str, inherited)],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what references print is no result
            pass_fds=inherited,
            start_new_session=True,  # an interrupt at the terminal is ours to handle
        )
        self._sections = SectionPage(page)
        self.busy = False
        """Carrying out an order."""
        theirs.close()
        os.close(page)
        os.close(lifeline)
        self._channel.send((device, budgets, hot))

    def await_ready(self) -> None:
        """Raises what opening the device raised."""
        if not self._channel.poll(_START_S):
            raise JudgeDied("the judge's process did not start in time")
        try:
            kind, content = self._channel.recv()
        except (EOFError, OSError) as error:
            raise JudgeDied(f"the judge's process did not start: {self._exit()}") from error
        if kind == "error":
            raise content

    def obey(
        self, order: AnyOrder, keep: Callable[[str, Any], None], limits: ReferenceLimits
    ) -> _Ended | None:
        """Have one order carried out. ``None``: all verdicts are there. Raises what the judge raised."""
        self.busy = True
        if not self._send(order):
            return self._gone()
        while True:
            if not self._channel.poll(_LOOK_S):
                ended = self._overdue(limits)
                if ended is not None:
                    return ended
                continue
            try:
                kind, content = self._channel.recv()
            except (EOFError, ConnectionError):
                return self._gone()
            if kind == "answer":
                keep(*content)
                continue
            self.busy = False
            if kind == "error":
                raise content
            return None

    def _send(self, order: AnyOrder | None) -> bool:
        """Whether there is someone who can still take it."""
        try:
            self._channel.send(order)
        except OSError:
            return False
        return True

    def _gone(self) -> _Ended:
        return _Ended(f"ended the judge's process ({self._exit()})", self._sections.entered())

    def _overdue(self, limits: ReferenceLimits) -> _Ended | None:
        entered = self._sections.entered()
        if entered is None:
            return None
        allowed_s = limits.bound_s if entered.section is Section.BOUND else limits.reference_s
        if entered.seconds > allowed_s:
            return _Ended(f"did not return within {allowed_s:g} s", entered)
        used, most = _resident_bytes(self._popen.pid), limits.memory_share * _machine_bytes()
        if used > most:
            return _Ended(f"took {used / 2**30:.1f} GiB, {most / 2**30:.1f} may be", entered)
        return None

    def _exit(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(_CLOSE_S)
            return f"signal {-code}" if code < 0 else f"exit code {code}"
        return "no exit code"

    def close(self) -> None:
        """Let it end by itself; kill it if it does not."""
        self._send(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_CLOSE_S)
        self.kill()

    def kill(self) -> None:
        """Idempotent. Its zygote and workers end with it."""
        self._popen.kill()
        self._popen.wait()
        self._channel.close()
        self._sections.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def _resident_bytes(pid: int) -> int:
    """0 where the process is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123 - read ten times a second
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


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
    on_trace: Callable[[Trace], None] | None = None,
    judge: Judge | None = None,
) -> EvaluationResult:
    """Build, run, check, time and score a solution in the jail.

    ``workloads``: uuids, all by default. ``hardware``: whose bound to score against, by default the
    device's own. ``mode``: ``reward`` is quick; ``rank`` takes three fresh workers and more
    samples. ``require_jail``: raise ``JailError`` where a layer of the jail is missing, in place of
    a flag. ``require_admission``: refuse public problems too whose gate lets answers pass that take no
    work; without it that is a flag. ``hot``: leave caches as they are; such times are never verified.
    ``limits``: of each worker. ``on_trace`` is called with every
    trace as it comes. ``judge``: a warm one; its device then counts, and whether it is hot.

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
    )
    with contextlib.nullcontext(judge) if judge is not None else Judge(device, hot=hot) as used:
        return used.evaluate(problem, solution, workloads=workloads, on_trace=on_trace, **options)
