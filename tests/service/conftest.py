"""A service in this process with a judge that only pretends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from solbench.judge import EvaluationResult
from solbench.score import problem_score
from solbench.service import Client, Settings
from solbench.spec import Definition, Problem, Solution, Trace, Workload, make_problem

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

DEFINITION = {
    "name": "scale",
    "axes": {"n": {"type": "var"}},
    "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
    "reference": "def run(x):\n    return x * 3.0\n",
}


def make_scale() -> Problem:
    workload = {"uuid": "w", "axes": {"n": 10}, "inputs": {"x": {"type": "random"}}}
    return make_problem(Definition.model_validate(DEFINITION), [Workload.model_validate(workload)])


def make_solution(name: str = "s", content: str = "def run(x, y): ...") -> Solution:
    return Solution.model_validate(
        {
            "name": name,
            "definition": "scale",
            "author": "a",
            "spec": {
                "languages": ["pytorch"],
                "target_hardware": ["LOCAL"],
                "entry_point": "main.py::run",
            },
            "sources": [{"path": "main.py", "content": content}],
        }
    )


class FakeJudge:
    """Passes everything; solutions called ``hold…`` wait until they are let go."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.go = threading.Event()
        self.closed = 0
        self.began = threading.Event()

    async def aevaluate(self, problem: Any, solution: Any, **options: Any) -> EvaluationResult:
        self.order.append(solution.name)
        self.began.set()
        if solution.name == "bug":
            raise ZeroDivisionError("a bug")
        while solution.name.startswith("hold") and not self.go.is_set():
            await asyncio.sleep(0.005)
        trace = _trace(problem, solution)
        options["on_trace"](trace)
        return EvaluationResult((trace,), problem_score([]))

    def close(self) -> None:
        self.closed += 1


def _trace(problem: Problem, solution: Solution) -> Trace:
    evaluation = {
        "status": "INCORRECT_NUMERICAL",
        "log": solution.name,
        "correctness": None,
        "performance": None,
        "environment": {"hardware": "fake", "libs": {}},
        "timestamp": "2026-01-01T00:00:00Z",
    }
    return Trace.model_validate(
        {
            "definition": problem.name,
            "solution": solution.name,
            "workload": problem.workloads[0],
            "evaluation": evaluation,
        }
    )


class Service:
    """A service that runs, and what is behind it."""

    def __init__(self, url: str, judge: FakeJudge, close: Callable[[], None]) -> None:
        self.url = url
        self.judge = judge
        self.close = close

    def client(self, name: str = "", token: str = "") -> Client:
        return Client(self.url, name=name, token=token)


Start = Callable[..., Service]


@pytest.fixture
def start() -> Iterator[Start]:
    from solbench.service._server import running

    with ExitStack() as stack:

        def begin(**settings: Any) -> Service:
            judge = FakeJudge()
            own = stack.enter_context(ExitStack())
            chosen = Settings(port=0, **{"grace_s": 5.0, **settings})
            url = own.enter_context(running(chosen, lambda device: judge))
            return Service(url, judge, own.close)

        yield begin


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    import json

    folder = tmp_path / "problems" / "scale"
    folder.mkdir(parents=True)
    (folder / "definition.json").write_text(json.dumps(DEFINITION))
    line = {"uuid": "w", "axes": {"n": 10}, "inputs": {"x": {"type": "random"}}}
    (folder / "workload.jsonl").write_text(json.dumps(line) + "\n")
    return tmp_path / "problems"
