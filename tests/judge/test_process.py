"""The judge in a process of its own: what a problem's code does to it is a verdict, and nothing is left."""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from solbench.errors import (
    BuildError,
    DeviceError,
    InputError,
    MissingExtra,
    SolBenchError,
    SpecError,
    SpecErrors,
)
from solbench.judge import Budget, Judge, ReferenceLimits, StopRule
from solbench.judge._sections import Section, SectionPage
from solbench.spec import Problem, Solution

pytestmark = pytest.mark.xdist_group("judge_process")

BRIEF = StopRule(minimum=12, least=3, few=3, seconds=0.05, relative=0.05)
QUICK = {"reward": Budget(BRIEF, BRIEF)}

ON_REAL_VALUES = """
import os
import signal
from torch._subclasses.fake_tensor import FakeTensor

def run(x, scale):
    if x.shape[0] == 1000 and not isinstance(x, FakeTensor):
        {statement}
    return x * scale
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge("cpu", budgets=QUICK, reference_limits=ReferenceLimits(reference_s=5.0)) as judge:
        yield judge


@pytest.fixture(scope="module")
def good() -> Solution:
    return Solution.model_validate(
        {
            "name": "good",
            "definition": "scale",
            "author": "tests",
            "spec": {
                "languages": ["pytorch"],
                "target_hardware": ["LOCAL"],
                "entry_point": "s.py::run",
            },
            "sources": [
                {
                    "path": "s.py",
                    "content": "import torch\ndef run(x, scale, y):\n    torch.mul(x, scale, out=y)\n",
                }
            ],
        }
    )


def statuses(result: Any) -> list[str]:
    return [trace.evaluation.status for trace in result.traces]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("while True: pass", "the reference did not return within 5 s"),
        (
            "os.kill(os.getpid(), signal.SIGSEGV)",
            r"the reference ended the judge's process \(signal 11\)",
        ),
    ],
)
def test_a_reference_that_hangs_or_crashes_costs_its_workload_only(
    judge: Judge,
    good: Solution,
    scale_problem: Callable[..., Problem],
    statement: str,
    reason: str,
) -> None:
    problem = scale_problem(ON_REAL_VALUES.format(statement=statement), workloads=2)
    result = judge.evaluate(problem, good)
    assert statuses(result) == ["INVALID_REFERENCE", "PASSED"]
    assert re.fullmatch(reason, result.traces[0].evaluation.log)


def test_a_reference_that_fills_the_memory_costs_its_workload_only(
    judge: Judge,
    good: Solution,
    scale_problem: Callable[..., Problem],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inside = tmp_path / "inside"

    def resident_bytes(pid: int) -> int:
        """A pebibyte, once, while the reference runs."""
        if not inside.exists():
            return 0
        inside.unlink()
        return 1 << 50

    monkeypatch.setattr("solbench.judge._link._resident_bytes", resident_bytes)
    statement = f"open({str(inside)!r}, 'w').close() or __import__('time').sleep(60)"
    problem = scale_problem(ON_REAL_VALUES.format(statement=statement), workloads=2)
    result = judge.evaluate(problem, good)
    assert statuses(result) == ["INVALID_REFERENCE", "PASSED"]
    assert result.traces[0].evaluation.log.startswith("the reference took 1048576.0 GiB")


def test_many_solutions_of_one_problem_and_asynchronous_use(
    judge: Judge, good: Solution, scale_problem: Callable[..., Problem]
) -> None:
    wrong = good.model_copy(
        update={
            "sources": (good.sources[0].model_copy(update={"content": "def run(x, s, y): pass\n"}),)
        }
    )
    results = list(judge.evaluate_many(scale_problem(), [good, wrong]))
    assert [statuses(result) for result in results] == [["PASSED"], ["INCORRECT_NUMERICAL"]]
    assert statuses(asyncio.run(judge.aevaluate(scale_problem(), good))) == ["PASSED"]
    endless = scale_problem(ON_REAL_VALUES.format(statement="__import__('time').sleep(60)"))

    async def lose_patience() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(judge.aevaluate(endless, good), 1.0)

    asyncio.run(lose_patience())
    assert judge._process is None  # ended, not waited for until the reference's limit
    assert statuses(judge.evaluate(scale_problem(), good)) == ["PASSED"]


def test_an_error_of_the_judge_is_raised_as_it_is(
    judge: Judge, good: Solution, scale_problem: Callable[..., Problem]
) -> None:
    with pytest.raises(InputError, match="no-such") as caught:
        judge.evaluate(scale_problem(), good, hardware="no-such")
    assert caught.value.remedy


def test_a_listener_that_raises_ends_the_evaluation_and_the_judge_goes_on(
    judge: Judge, good: Solution, scale_problem: Callable[..., Problem]
) -> None:
    def listener(trace: Any) -> None:
        raise ConnectionError("mine")

    with pytest.raises(ConnectionError, match="mine"):
        judge.evaluate(scale_problem(workloads=2), good, on_trace=listener)
    assert statuses(judge.evaluate(scale_problem(), good)) == ["PASSED"]


def test_a_device_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="unknown device 'tpu'"):
        Judge("tpu")


def test_the_judges_process_ends_with_the_one_that_asked() -> None:
    program = (
        "import os, sys\nfrom solbench.judge import Judge\njudge = Judge('cpu')\n"
        "print(judge._process._popen.pid, flush=True)\nos._exit(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    process = Path(f"/proc/{int(done.stdout)}")
    deadline = time.monotonic() + 5
    while process.exists() and "Z" not in (process / "stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_page_tells_what_is_running_and_what_ran_around_it() -> None:
    descriptor = SectionPage.create()
    ours, theirs = SectionPage(descriptor), SectionPage(descriptor)
    os.close(descriptor)
    assert theirs.entered() is None
    with ours.within(3, Section.BOUND):
        with ours.within(3, Section.INPUTS):
            entered = theirs.entered()
            assert entered is not None
            assert (entered.workload, entered.section) == (3, Section.INPUTS)
        entered = theirs.entered()
        assert entered is not None
        assert entered.section is Section.BOUND
    assert theirs.entered() is None
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "error",
    [
        BuildError("line 3", "long log"),
        MissingExtra("ray", "ray"),
        SpecErrors([SpecError("wrong", file="a", key="k", remedy="Mend it.")]),
    ],
)
def test_errors_cross_processes_as_they_are(error: SolBenchError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__.keys() == error.__dict__.keys()


def test_without_pytorch_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solbench.judge._process.find_spec", lambda name: None)
    with pytest.raises(DeviceError, match="PyTorch is not installed"):
        Judge("cpu")
