"""The judge: keeps a zygote, a calibrated clock and known bounds warm between evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from solbench.errors import InputError
from solbench.jail import Limits, Zygote, start_zygote
from solbench.judge._admissions import AdmissionBook
from solbench.judge._bounds import BoundBook
from solbench.judge._device import Device, open_device
from solbench.judge._floor import TimerFloor, measure_floor
from solbench.judge._samples import Series
from solbench.judge._statistics import Budget
from solbench.score import ProblemScore
from solbench.spec import Problem, Solution, Trace, Workload

Mode = Literal["reward", "rank"]


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The verdict on a solution: one trace a workload, in the problem's order, and their score."""

    traces: tuple[Trace, ...]
    problem_score: ProblemScore

    @property
    def passed(self) -> bool:
        """Whether every workload passed."""
        return all(trace.evaluation.status == "PASSED" for trace in self.traces)

    @property
    def score(self) -> float | None:
        """Mean over the workloads; ``None`` while withheld or where nothing can be scored."""
        return self.problem_score.score

    def summary(self) -> str:
        """One line: how many passed, and the score."""
        good = sum(trace.evaluation.status == "PASSED" for trace in self.traces)
        score = "none" if self.score is None else f"{self.score:.3f}"
        return f"{good} of {len(self.traces)} workloads passed; score {score} ({self.problem_score.note})"


class Judge:
    """Evaluates solutions on one device. A context manager; reuse it, since starting costs
    seconds."""

    def __init__(
        self,
        device: str = "cpu",
        *,
        budgets: Mapping[str, Budget] | None = None,
        hot: bool = False,
    ) -> None:
        """``budgets``: the device's own by default. ``hot`` leaves caches as they are; such times are recorded
        as hot and never verified."""
        self.device: Device = open_device(device, hot=hot)
        self._budgets = budgets or self.device.budgets
        self.bounds = BoundBook()
        self.admissions = AdmissionBook(self.device.title())
        self.references: dict[tuple[str, str], Series] = {}
        """Latencies of references already timed, by problem and workload digest."""
        self._zygote: Zygote | None = None
        self._floor: TimerFloor | None = None

    @property
    def zygote(self) -> Zygote:
        """Started on first use."""
        if self._zygote is None:
            self._zygote = start_zygote()
        return self._zygote

    @property
    def floor(self) -> TimerFloor:
        """Measured on first use."""
        if self._floor is None:
            self._floor = measure_floor(self.zygote, self.device)
        return self._floor

    def evaluate(
        self,
        problem: Problem,
        solution: Solution,
        *,
        workloads: Sequence[str] | None = None,
        hardware: str | None = None,
        mode: Mode = "reward",
        require_jail: bool = False,
        require_admission: bool = False,
        limits: Limits | None = None,
        on_trace: Callable[[Trace], None] | None = None,
    ) -> EvaluationResult:
        """See :func:`solbench.judge.evaluate`."""
        from solbench.judge._evaluate import EvaluationRun, Request

        for key, value, kind in (("problem", problem, Problem), ("solution", solution, Solution)):
            if not isinstance(value, kind):
                raise InputError(
                    f"a {kind.__name__} is wanted, not a {type(value).__name__}",
                    key=key,
                    remedy=f"Load it with solbench.load_{key}(path).",
                )
        if mode not in self._budgets:
            known = ", ".join(self._budgets)
            raise InputError(f"there is no mode '{mode}'", key="mode", remedy=f"Known: {known}.")
        request = Request(
            problem=problem,
            solution=solution,
            workloads=_chosen(problem, workloads),
            hardware=hardware or self.device.hardware(),
            mode=mode,
            budget=self._budgets[mode],
            require_jail=require_jail,
            require_admission=require_admission,
            limits=limits,
            on_trace=on_trace,
        )
        return EvaluationRun(self, request).result()

    def close(self) -> None:
        """End the zygote and everything it started. Idempotent."""
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


def _chosen(problem: Problem, uuids: Sequence[str] | None) -> tuple[Workload, ...]:
    if uuids is None:
        return problem.workloads
    if isinstance(uuids, str) or not uuids:
        # An evaluation of nothing would pass.
        raise InputError("is not a list of uuids", key="workloads", remedy="Give one at least.")
    return tuple(problem.workload(uuid) for uuid in uuids)


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
    limits: Limits | None = None,
    on_trace: Callable[[Trace], None] | None = None,
    judge: Judge | None = None,
) -> EvaluationResult:
    """Build, run, check, time and score a solution in the jail.

    ``workloads``: uuids, all by default. ``hardware``: whose bound to score against, by default the
    device's own. ``mode``: ``reward`` is quick; ``rank`` takes three fresh workers and more
    samples. ``require_jail``: raise ``JailError`` where a layer of the jail is missing, in place of
    a flag. ``require_admission``: refuse public problems too whose gate lets answers pass that take no
    work; without it that is a flag. ``limits``: of each worker. ``on_trace`` is called with every
    trace as it comes. ``judge``: a warm one; its device then counts.

    Whatever the submission does is a verdict and never an exception. Raises ``InputError`` for a
    request that is wrong (an unknown workload, hardware or device), ``JailError`` and
    ``DeviceError`` for what the machine lacks.
    """
    if judge is not None:
        return judge.evaluate(
            problem,
            solution,
            workloads=workloads,
            hardware=hardware,
            mode=mode,
            require_jail=require_jail,
            require_admission=require_admission,
            limits=limits,
            on_trace=on_trace,
        )
    with Judge(device) as own:
        return own.evaluate(
            problem,
            solution,
            workloads=workloads,
            hardware=hardware,
            mode=mode,
            require_jail=require_jail,
            require_admission=require_admission,
            limits=limits,
            on_trace=on_trace,
        )
