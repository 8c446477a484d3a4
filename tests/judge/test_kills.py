"""Whatever is killed, whenever: every workload has a verdict, nothing is left, and the next evaluation works.

``benchmarks/judge/kills.py`` does the same at random times.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from solbench.jail import Command, JailedWorker, ZygoteClient
from solbench.jail.builders import _compile
from solbench.judge import Budget, LocalJudge, StopRule, _canaries, _floor
from solbench.judge._floor import measure_floor
from solbench.judge.attacks import Submission
from solbench.spec import Definition, Problem, Workload, make_problem

pytestmark = [pytest.mark.xdist_group("judge"), pytest.mark.timeout(400)]

_BRIEF = StopRule(minimum=2, least=2, seconds=0.02, relative=1.0)
BUDGETS = {"reward": Budget(_BRIEF, _BRIEF)}
slow = pytest.mark.skipif(
    "SOLBENCH_SLOW" not in os.environ, reason="set SOLBENCH_SLOW=1: starts much anew"
)


def states(*brief: Command) -> list[Any]:
    """Of the protocol; all but some only where there is time."""
    every = (Command.LOAD, Command.MEET, Command.SEAL, Command.ARM, Command.RUN)
    return [state if state in brief else pytest.param(state, marks=slow) for state in every]


GOOD = "import torch\ndef run(x, y):\n    torch.mul(x, 3.0, out=y)\n"
NATIVE = """
#include "solbench.h"
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {
  for (int64_t i = 0; i < inputs[0]->shape[0]; ++i)
    ((float*)outputs[0]->data)[i] = ((const float*)inputs[0]->data)[i] * 3.0f;
  return 0;
}
"""


def small_problem() -> Problem:
    definition = {
        "name": "small",
        "axes": {"n": {"type": "var"}},
        "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
        "reference": "def run(x):\n    return x * 3.0\n",
    }
    workloads = [
        Workload.model_validate(
            {"uuid": f"w{size}", "axes": {"n": size}, "inputs": {}, "tolerance": {}}
        )
        for size in (1000, 3000)
    ]
    return make_problem(Definition.model_validate(definition), workloads)


PROBLEM = small_problem()


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalJudge]:
    own, before = tmp_path_factory.mktemp("kills"), tempfile.tempdir
    tempfile.tempdir = str(own)
    with LocalJudge("cpu", budgets=BUDGETS) as judge:
        _ = (
            judge.floor
        )  # a judge that cannot calibrate its clock refuses to work: that is no verdict
        yield judge
    tempfile.tempdir = before
    assert not list(own.glob("solbench-*"))


def statuses(judge: LocalJudge, source: str = GOOD, language: Any = "pytorch") -> list[str]:
    solution = Submission(source, language=language).solution(PROBLEM, "killed")
    return [trace.evaluation.status for trace in judge.evaluate(PROBLEM, solution).traces]


def kill_at(monkeypatch: pytest.MonkeyPatch, state: Command, victim: Any) -> None:
    """Once, when the state's first command has been given."""
    give, done = JailedWorker.command, []

    def command(self: JailedWorker, number: int, **where: int) -> int:
        sequence = give(self, number, **where)
        if number == state and not done:
            done.append(True)
            os.kill(victim(self), signal.SIGKILL)
        return sequence

    monkeypatch.setattr(JailedWorker, "command", command)


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in path.read_text().split()]
        except OSError:
            continue
        for child in children:
            found |= {child, *descendants(child)}
    return found


def nothing_but(judge: LocalJudge, before: set[int]) -> bool:
    """Whether only the zygote is left of what was started, after a moment."""
    zygote = judge.zygote
    assert isinstance(zygote, ZygoteClient)
    for _ in range(250):
        if descendants(os.getpid()) - before <= {zygote.pid}:
            folders = list(Path(tempfile.gettempdir()).glob("solbench-*/worker-*"))
            return not folders
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("state", states(Command.LOAD, Command.SEAL, Command.RUN))
def test_a_worker_that_is_killed(
    judge: LocalJudge, monkeypatch: pytest.MonkeyPatch, state: Command
) -> None:
    before = descendants(os.getpid())
    with monkeypatch.context() as patch:
        kill_at(patch, state, lambda worker: worker.pid)
        seen = statuses(judge)
    assert len(seen) == 2
    assert set(seen) <= {"RUNTIME_ERROR", "PASSED"}
    assert statuses(judge) == ["PASSED", "PASSED"]
    assert nothing_but(judge, before)


def test_a_worker_that_is_killed_while_it_is_stopped_has_not_cheated(
    judge: LocalJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        zygote = judge.zygote
        assert isinstance(zygote, ZygoteClient)
        flush, workers = judge.device.flush, list(descendants(zygote.pid))

        def flush_and_kill() -> None:
            for pid in descendants(zygote.pid) - {*workers}:
                workers.append(pid)
                os.kill(pid, signal.SIGKILL)
            flush()

        patch.setattr(judge.device, "flush", flush_and_kill)
        seen = statuses(judge)
    assert set(seen) <= {"RUNTIME_ERROR", "PASSED"}
    assert "RUNTIME_ERROR" in seen


@pytest.mark.parametrize("state", states(Command.RUN))
def test_a_worker_that_is_killed_while_the_clock_is_calibrated(
    judge: LocalJudge, monkeypatch: pytest.MonkeyPatch, state: Command
) -> None:
    before = descendants(os.getpid())
    monkeypatch.setattr(_canaries, "prove", lambda *_: None)
    monkeypatch.setattr(_floor, "_ROUNDS", 2)
    kill_at(monkeypatch, state, lambda worker: worker.pid)
    floor = measure_floor(judge.zygote, judge.device, judge.phases)
    assert floor.run_ms + floor.call_ms > 0  # two rounds on a busy machine may put all in either
    assert nothing_but(judge, before)


@pytest.mark.parametrize("state", states(Command.RUN))
def test_a_zygote_that_is_killed(
    judge: LocalJudge, monkeypatch: pytest.MonkeyPatch, state: Command
) -> None:
    statuses(judge)
    before = descendants(os.getpid()) - {judge.zygote.pid}  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        kill_at(patch, state, lambda worker: judge.zygote.pid)  # type: ignore[attr-defined]
        seen = statuses(judge)
    assert len(seen) == 2
    assert set(seen) <= {"RUNTIME_ERROR", "PASSED"}
    assert statuses(judge) == ["PASSED", "PASSED"]
    assert nothing_but(judge, before)


def test_a_builder_that_is_killed(
    judge: LocalJudge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path))
    start = subprocess.Popen

    def start_and_kill(*arguments: Any, **options: Any) -> Any:
        process = start(*arguments, **options)
        process.kill()
        return process

    with monkeypatch.context() as patch:
        patch.setattr(_compile.subprocess, "Popen", start_and_kill)
        seen = statuses(judge, NATIVE, "cpp")
    assert seen == ["COMPILE_ERROR", "COMPILE_ERROR"]
    assert not list(tmp_path.glob("artifacts/.staging-*"))
    assert not list(Path(tempfile.gettempdir()).glob("solbench-build-*"))
    assert statuses(judge, NATIVE, "cpp") == ["PASSED", "PASSED"]


_JUDGE = """
import os, signal, sys
from solbench.cli._records import appending
from solbench.judge._floor import NO_FLOOR
from tests.judge.test_kills import *
from solbench.spec import trace_line

state = sys.argv[1]
give = JailedWorker.command
def command(self, number, **where):
    sequence = give(self, number, **where)
    if number.name == state:
        os.kill(os.getpid(), signal.SIGKILL)
    return sequence
JailedWorker.command = command
def keep(trace):
    append(trace_line(trace))
    if state == "trace":
        os.kill(os.getpid(), signal.SIGKILL)
with appending(Path(sys.argv[2])) as append, LocalJudge("cpu", budgets=BUDGETS) as judge:
    judge._floor = NO_FLOOR  # spares the test seconds
    print(judge.zygote.pid, flush=True)
    judge.evaluate(PROBLEM, Submission(GOOD).solution(PROBLEM, "x"), on_trace=keep)
"""


def test_a_judge_that_is_killed(tmp_path: Path) -> None:
    """At several states at once: starting takes the time."""
    started = {}
    for state in ("SEAL", "RUN", "trace") if "SOLBENCH_SLOW" in os.environ else ("RUN", "trace"):
        place = tmp_path / state
        place.mkdir()
        arguments = [sys.executable, "-c", textwrap.dedent(_JUDGE), state, str(place / "traces")]
        environment = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": os.pathsep.join(sys.path)}
        started[state] = subprocess.Popen(
            arguments, env=environment, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
    for state, process in started.items():
        out, _ = process.communicate(timeout=300)
        assert process.returncode == -signal.SIGKILL, state
        assert _is_gone(int(out)), state
        assert not list((tmp_path / state).glob("solbench-*")), state
    lines = (tmp_path / "trace" / "traces").read_text().splitlines(keepends=True)
    assert [line.endswith("}\n") for line in lines] == [True]


def _is_gone(pid: int) -> bool:
    for _ in range(500):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False
