"""Compilers beside the judge's other work: what begins when, and that nothing is built twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solbench.errors import BuildError, InputError, JailError
from solbench.jail import Artifact, cuda_driver
from solbench.jail.builders import cuda_cpp
from solbench.jail.cuda_driver import CudaDriverError
from solbench.judge import (
    Budget,
    Judge,
    LocalJudge,
    StopRule,
    _opening,
    _service,
    _session,
    evaluate,
)
from solbench.judge._builds import Builds, refusal
from solbench.judge._phases import Phase, Phases
from solbench.judge._setup import Coming, Setup, Start
from solbench.spec import Problem, Solution, load_problem, load_solution

pytestmark = pytest.mark.xdist_group("judge")

EXAMPLE = Path(__file__).parents[2] / "examples/rmsnorm"
PATIENCE_S = 60.0
BRIEF = StopRule(minimum=3, least=3, maximum=3, seconds=0.05)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(EXAMPLE)


@pytest.fixture(scope="module")
def solution() -> Solution:
    return load_solution(EXAMPLE / "solution_cpp.json")


@pytest.fixture(scope="module")
def another() -> Solution:
    return load_solution(EXAMPLE / "solution_fast.json")


class Compiler:
    """Takes as long as it is told to, and notes what it is given."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.at_once: list[int] = []
        """How many compilers ran as each began."""
        self._running = 0
        self.may_end = threading.Event()
        self.error: Exception | None = None

    def __call__(self, solution: Solution, device: str) -> Artifact:
        self.made.append(solution.name)
        self._running += 1
        self.at_once.append(self._running)
        assert self.may_end.wait(PATIENCE_S)
        self._running -= 1
        if self.error is not None:
            raise self.error
        return Artifact("folder", solution.name, "run", "python", True, solution.name)


@pytest.fixture
def compiler() -> Compiler:
    return Compiler()


@pytest.fixture
def builds(compiler: Compiler) -> Builds:
    return Builds("cpu", Phases(), compiler)


def test_what_was_begun_is_what_is_taken(
    builds: Builds, compiler: Compiler, problem: Problem, solution: Solution
) -> None:
    builds.begin(solution, problem.definition)
    building = builds.take(solution)
    assert not building.done()
    compiler.may_end.set()
    assert building.result(PATIENCE_S).entry_file == solution.name
    assert compiler.made == [solution.name]
    # Taken once: its folder may be gone by the next time.
    builds.take(solution).result(PATIENCE_S)
    assert compiler.made == 2 * [solution.name]


def test_what_was_not_begun_is_built_when_it_is_taken(
    builds: Builds, compiler: Compiler, solution: Solution
) -> None:
    compiler.may_end.set()
    assert builds.take(solution).result(PATIENCE_S).entry_file == solution.name


def test_another_solution_waits_for_the_one_that_was_begun(
    builds: Builds, compiler: Compiler, problem: Problem, solution: Solution, another: Solution
) -> None:
    builds.begin(solution, problem.definition)
    taken: list[Artifact] = []
    asking = threading.Thread(target=lambda: taken.append(builds.take(another).result(PATIENCE_S)))
    asking.start()
    asking.join(0.2)  # a second compiler would have begun by then
    compiler.may_end.set()
    asking.join(PATIENCE_S)
    assert compiler.made == [solution.name, another.name]
    assert compiler.at_once == [1, 1]
    assert [each.entry_file for each in taken] == [another.name]


def test_to_settle_is_to_wait(
    builds: Builds, compiler: Compiler, problem: Problem, solution: Solution
) -> None:
    builds.begin(solution, problem.definition)
    settling = threading.Thread(target=builds.settle)
    settling.start()
    assert settling.is_alive()  # as long as the compiler is
    compiler.may_end.set()
    settling.join(PATIENCE_S)
    assert not settling.is_alive()


def test_a_build_that_fails_says_so_to_whoever_takes_it(
    builds: Builds, compiler: Compiler, problem: Problem, solution: Solution
) -> None:
    compiler.error = BuildError("a.cpp:1: no", "log")
    compiler.may_end.set()
    builds.begin(solution, problem.definition)
    with pytest.raises(BuildError, match=r"a\.cpp:1: no"):
        builds.take(solution).result(PATIENCE_S)


def test_what_would_be_refused_is_not_begun(
    builds: Builds, compiler: Compiler, problem: Problem
) -> None:
    needs_gpu = load_solution(EXAMPLE / "solution_cuda.json")
    assert "needs an NVIDIA GPU" in str(refusal(needs_gpu, problem.definition, "cpu"))
    assert refusal(needs_gpu, problem.definition, "cuda:0") is None
    builds.begin(needs_gpu, problem.definition)
    assert compiler.made == []


class Events:
    """What happened, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def note(self, event: str, result: Any = None) -> Callable[..., Any]:
        def noting(*_: object, **__: object) -> Any:
            self.seen.append(event)
            return result

        return noting


def test_a_judge_begins_to_build_before_it_imports_torch(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, solution: Solution
) -> None:
    events = Events()
    monkeypatch.setattr(Builds, "begin", events.note("build"))
    monkeypatch.setattr(_service, "import_module", events.note("import"))
    monkeypatch.setattr(_session, "LocalJudge", events.note("device"))
    start = Start(Setup("cpu"), Coming(problem.definition, solution))
    _service._start(start, None, None)  # type: ignore[arg-type]
    assert events.seen[0] == "build"
    assert events.seen[-1] == "device"
    assert "import" in events.seen
    events.seen.clear()
    _service._start(Start(Setup("cpu")), None, None)  # type: ignore[arg-type]
    assert "build" not in events.seen


def test_a_driver_makes_its_context_meanwhile_and_its_refusal_is_left_to_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def refuse(ordinal: int) -> None:
        asked.append(ordinal)
        raise CudaDriverError("cuInit: CUDA_ERROR_NO_DEVICE")

    monkeypatch.setattr(cuda_driver, "open_context", refuse)
    monkeypatch.setenv("CUDA_MODULE_LOADING", "EAGER")  # a user's own choice stays
    for device in ("cpu", "cuda", "cuda:1", "cuda:x", "tpu"):
        _service._open_context(device)
    assert asked == [0, 1]


def test_an_evaluation_tells_its_judge_what_is_coming(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, solution: Solution
) -> None:
    started: list[Start] = []

    def link(start: Start) -> Any:
        started.append(start)
        raise JailError("far enough")

    monkeypatch.setattr("solbench.judge._process.Link", link)
    with pytest.raises(JailError, match="far enough"):
        evaluate(problem, solution)
    with pytest.raises(InputError):
        evaluate(problem, solution, workloads=["no such"])
    with pytest.raises(JailError, match="far enough"):
        Judge()
    assert [each.coming for each in started] == [Coming(problem.definition, solution), None]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Events:
    """Notes when cases are opened, which they then are."""
    events, really = Events(), _opening.CaseOpener.open

    def opening(self: Any, number: int, workload: Any) -> Any:
        events.seen.append("open")
        return really(self, number, workload)

    monkeypatch.setattr(_opening.CaseOpener, "open", opening)
    return events


def _judge(make: Callable[[Solution, str], Artifact]) -> LocalJudge:
    judge = LocalJudge("cpu", budgets={"reward": Budget(BRIEF, BRIEF)})
    judge.builds = Builds("cpu", judge.phases, make)
    return judge


@pytest.mark.parametrize(
    ("shares_cores", "order"), [(True, ["built", "open"]), (False, ["open", "built"])]
)
def test_cases_are_opened_beside_a_compiler_where_that_disturbs_nothing(
    opened: Events, problem: Problem, solution: Solution, shares_cores: bool, order: list[str]
) -> None:
    is_open = threading.Event()

    def make(solution: Solution, device: str) -> Artifact:
        while not (shares_cores or "open" in opened.seen):
            is_open.wait(0.01)  # else this build would have to be over before there is a case
        opened.seen.append("built")
        raise BuildError("main.cpp:1: no", "")

    with _judge(make) as judge:
        judge.device.shares_cores = shares_cores
        (trace,) = judge.evaluate(problem, solution, workloads=[problem.workloads[0].uuid]).traces
    assert trace.evaluation.status == "COMPILE_ERROR"
    assert "main.cpp:1: no" in trace.evaluation.log
    assert opened.seen == order


def test_a_case_that_cannot_be_opened_leaves_no_compiler_behind(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, solution: Solution
) -> None:
    failed, ended = threading.Event(), threading.Event()

    def fail(*_: object) -> None:
        failed.set()
        raise InputError("there is no such hardware")

    def make(solution: Solution, device: str) -> Artifact:
        assert failed.wait(PATIENCE_S)
        sum(range(10**6))  # goes on for a while
        ended.set()
        raise BuildError("no", "")

    monkeypatch.setattr(_opening.CaseOpener, "open", fail)
    with _judge(make) as judge:
        judge.device.shares_cores = False
        with pytest.raises(InputError, match="no such hardware"):
            judge.evaluate(problem, solution)
        assert ended.is_set()


def test_a_clock_that_cannot_be_calibrated_still_stops_the_evaluation(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, another: Solution
) -> None:
    def fail(*_: object) -> None:
        raise JailError("the empty solution failed")

    monkeypatch.setattr(_session, "measure_floor", fail)
    with LocalJudge("cpu") as judge, pytest.raises(JailError, match="the empty solution failed"):
        judge.builds.begin(another, problem.definition)
        judge.evaluate(problem, another, workloads=[problem.workloads[0].uuid])


def test_a_build_that_fails_while_the_judge_starts_is_a_verdict(
    problem: Problem, solution: Solution
) -> None:
    sources = tuple(
        each.model_copy(update={"content": each.content.replace("for (", "int none = ; for (")})
        for each in solution.sources
    )
    broken = solution.model_copy(update={"sources": sources})
    result = evaluate(problem, broken, workloads=[problem.workloads[0].uuid])
    assert [trace.evaluation.status for trace in result.traces] == ["COMPILE_ERROR"]
    assert "expected primary-expression" in result.traces[0].evaluation.log
    began = {each.name: each.began_s for each in result.phases}
    ended = {each.name: each.ended_s for each in result.phases}
    assert began["build"] < ended["import"]
    assert began["start"] == min(began.values())


def test_phases_are_told_once_in_the_order_in_which_they_began() -> None:
    ticks = iter([1.0, 2.0, 5.0, 9.0])
    phases = Phases(lambda: next(ticks))
    with phases.within("outer"), phases.within("inner"):
        pass
    outer, inner = phases.take()
    assert (outer, inner) == (Phase("outer", 1.0, 9.0), Phase("inner", 2.0, 5.0))
    assert outer.seconds == 8.0
    assert phases.take() == ()


@pytest.mark.parametrize(
    ("capability", "number"), [((9, 0), "90a"), ((10, 0), "100a"), ((8, 9), "89")]
)
def test_the_architecture_is_that_of_the_device_by_its_driver(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], number: str
) -> None:
    monkeypatch.setattr(cuda_driver, "compute_capability", {3: capability}.__getitem__)
    assert cuda_cpp._local_architecture("cuda:3") == number


def test_without_a_device_code_is_built_for_the_most_common_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(ordinal: int) -> tuple[int, int]:
        raise CudaDriverError("libcuda.so.1: not here")

    monkeypatch.setattr(cuda_driver, "compute_capability", refuse)
    assert cuda_cpp._local_architecture("cuda:0") == "90a"
    assert cuda_cpp._local_architecture("cpu") == "90a"
