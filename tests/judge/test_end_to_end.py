"""Real workers behind real walls, on tiny problems. One judge serves the whole file: starting costs."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from solbench.errors import InputError, JailError
from solbench.jail import JailedWorker, Limits, Walls
from solbench.judge import (
    Budget,
    EvaluationResult,
    LocalJudge,
    StopRule,
    evaluate,
    reference_solution,
)
from solbench.spec import Problem, Solution, make_problem, trace_line

pytestmark = pytest.mark.xdist_group("judge")

SHORT = Limits(memory_bytes=1 << 30, load_s=20.0, meet_s=20.0, call_s=2.0)

BRIEF = StopRule(minimum=12, least=6, seconds=0.1, relative=0.05)
QUICK = {"reward": Budget(BRIEF, BRIEF), "rank": Budget(BRIEF, BRIEF, workers=3)}

GOOD = "import torch\ndef run(x, scale, y):\n    torch.mul(x, scale, out=y)\n"


def solution(source: str, *, returns: bool = False, **more: Any) -> Solution:
    return Solution.model_validate(
        {
            "name": "submission",
            "definition": "scale",
            "author": "tests",
            "spec": {
                "languages": ["pytorch"],
                "target_hardware": ["LOCAL"],
                "entry_point": "submission.py::run",
                "destination_passing_style": not returns,
                **more,
            },
            "sources": [{"path": "submission.py", "content": source}],
        }
    )


@pytest.fixture(scope="module")
def judge() -> Iterator[LocalJudge]:
    with LocalJudge("cpu", budgets=QUICK) as judge:
        yield judge


@pytest.fixture
def attempt(
    judge: LocalJudge, scale_problem: Callable[..., Problem]
) -> Callable[..., EvaluationResult]:
    def attempt(source: str, *, workloads: int = 1, **options: Any) -> EvaluationResult:
        problem = scale_problem(workloads=workloads)
        limits = options.pop("limits", SHORT)
        return judge.evaluate(problem, solution(source, **options), limits=limits)

    return attempt


def statuses(result: EvaluationResult) -> list[str]:
    return [trace.evaluation.status for trace in result.traces]


def flags(result: EvaluationResult) -> set[str]:
    return {flag.id for trace in result.traces for flag in trace.solbench.flags}


class TestVerdicts:
    def test_a_right_solution_passes_with_a_whole_record(self, attempt):
        result = attempt(GOOD, workloads=2)
        assert statuses(result) == ["PASSED", "PASSED"]
        trace = result.traces[0]
        # On a busy machine the timer's floor may cover so small a call: then 0, and a flag says so.
        covered = flags(result) & {"imprecise", "busy_machine", "undecidable"}
        assert trace.evaluation.performance.latency_ms > 0 or covered
        assert trace.evaluation.performance.reference_latency_ms > 0 or covered
        record = trace.solbench
        assert record.timing.ci_low_ms <= record.timing.median_ms <= record.timing.ci_high_ms
        assert len(record.timing.samples) >= 3
        assert record.timing.timer_floor_ms > 0
        assert record.baseline == "provisional: reference"
        assert {"definition", "workload", "solution", "artifact", "seeds"} <= record.digests.keys()
        for trace in result.traces:
            json.loads(trace_line(trace), parse_constant=pytest.fail)

    def test_value_returning_solutions_pass(self, attempt):
        assert attempt("def run(x, scale):\n    return x * scale\n", returns=True).passed

    def test_a_wrong_element_is_located(self, attempt):
        result = attempt(GOOD + "    y[17] += 100.0\n", workloads=1)
        assert statuses(result) == ["PASSED"]  # one of 1000 is within the official share
        result = attempt(GOOD + "    y[17:217] += 100.0\n")
        assert statuses(result) == ["INCORRECT_NUMERICAL"]
        where = result.traces[0].solbench.failure
        assert (where["output"], where["index"]) == ("y", [17])
        assert where["got"] == pytest.approx(where["expected"] + 100.0, abs=1e-3)
        assert where["share_off"] == pytest.approx(0.2)
        assert where["max_absolute_error"] == pytest.approx(100.0, abs=1e-3)
        assert result.traces[0].evaluation.performance is None
        assert result.score == 0.0

    def test_doing_nothing_fails(self, attempt):
        assert statuses(attempt("def run(x, scale, y):\n    pass\n")) == ["INCORRECT_NUMERICAL"]

    def test_nan_fails_and_the_trace_is_strict_json(self, attempt):
        result = attempt("def run(x, scale, y):\n    y.fill_(float('nan'))\n")
        assert statuses(result) == ["INCORRECT_NUMERICAL"]
        assert result.traces[0].evaluation.correctness.has_nan
        json.loads(trace_line(result.traces[0]), parse_constant=pytest.fail)

    @pytest.mark.parametrize(
        ("source", "status"),
        [
            ("def run(x, scale):\n    return (x * scale)[:-1]\n", "INCORRECT_SHAPE"),
            ("def run(x, scale):\n    return (x * scale).double()\n", "INCORRECT_DTYPE"),
            ("def run(x, scale):\n    return x * scale, x\n", "INCORRECT_SHAPE"),
            ("def run(x, scale):\n    return 'y'\n", "INCORRECT_DTYPE"),
        ],
    )
    def test_returned_values_of_the_wrong_form(self, attempt, source, status):
        assert statuses(attempt(source, returns=True)) == [status]

    def test_an_exception_shows_its_message(self, attempt):
        result = attempt("def run(x, scale, y):\n    raise ValueError('no such thing')\n")
        assert statuses(result) == ["RUNTIME_ERROR"]
        assert "no such thing" in result.traces[0].evaluation.log

    def test_a_file_that_does_not_import(self, attempt):
        result = attempt("import no_such_module\n" + GOOD, workloads=2)
        assert statuses(result) == ["RUNTIME_ERROR"] * 2
        assert "no_such_module" in result.traces[0].evaluation.log

    def test_a_missing_entry(self, attempt):
        source = "import types\nglobals().update(other=lambda x, scale, y: None)\n"
        assert statuses(attempt(source))[0] in ("RUNTIME_ERROR", "COMPILE_ERROR")

    def test_a_wrong_signature_is_found_before_anything_is_built(self, attempt):
        result = attempt("def run(x):\n    pass\n", workloads=2)
        assert statuses(result) == ["COMPILE_ERROR"] * 2
        assert "takes 1" in result.traces[0].evaluation.log
        assert result.traces[0].solbench.phase == "spec"

    def test_a_gpu_language_on_a_cpu_says_what_it_needs(self, judge, scale_problem):
        for_gpu = Solution.model_validate(
            {
                "name": "gpu",
                "definition": "scale",
                "author": "tests",
                "spec": {
                    "languages": ["cuda_cpp"],
                    "target_hardware": ["LOCAL"],
                    "entry_point": "a.cu::run",
                    "binding": "c",
                },
                "sources": [{"path": "a.cu", "content": "int run;\n"}],
            }
        )
        result = judge.evaluate(scale_problem(), for_gpu)
        assert statuses(result) == ["COMPILE_ERROR"]
        assert "needs an NVIDIA GPU" in result.traces[0].evaluation.log

    def test_c_that_does_not_compile(self, judge, scale_problem):
        broken = Solution.model_validate(
            {
                "name": "broken",
                "definition": "scale",
                "author": "tests",
                "spec": {
                    "languages": ["cpp"],
                    "target_hardware": ["LOCAL"],
                    "entry_point": "a.cpp::run",
                    "binding": "c",
                },
                "sources": [{"path": "a.cpp", "content": "int run( { return 0; }\n"}],
            }
        )
        result = judge.evaluate(scale_problem(workloads=2), broken)
        assert statuses(result) == ["COMPILE_ERROR"] * 2
        assert "a.cpp:1" in result.traces[0].evaluation.log
        assert result.traces[0].solbench.phase == "build"


class TestEveryWorkloadHasItsVerdict:
    """The second of three workloads (1001 elements) is where these misbehave."""

    def on_second(self, statement: str) -> str:
        return GOOD.replace("    torch", f"    if len(x) == 1001:\n        {statement}\n    torch")

    @pytest.mark.parametrize(
        ("statement", "status"),
        [
            ("import os; os._exit(0)", "RUNTIME_ERROR"),
            ("raise SystemExit(0)", "RUNTIME_ERROR"),
            ("import ctypes; ctypes.string_at(0)", "RUNTIME_ERROR"),
            ("y.zero_(); return", "INCORRECT_NUMERICAL"),
        ],
    )
    def test_others_are_still_evaluated(self, attempt, statement, status):
        result = attempt(self.on_second(statement), workloads=3)
        assert statuses(result) == ["PASSED", status, "PASSED"]

    def test_a_hang_is_a_timeout_of_one_workload(self, attempt):
        limits = Limits(meet_s=1.5, call_s=1.5)
        result = attempt(self.on_second("while True: pass"), workloads=3, limits=limits)
        assert statuses(result) == ["PASSED", "TIMEOUT", "PASSED"]

    def test_a_hang_after_many_good_calls(self, attempt):
        source = (
            "import torch, time\ncalls = [0]\ndef run(x, scale, y):\n    calls[0] += 1\n"
            "    if calls[0] > 19: time.sleep(1000)\n    torch.mul(x, scale, out=y)\n"
        )
        assert statuses(attempt(source)) == ["TIMEOUT"]

    def test_memory_without_end(self, attempt):
        source = (
            "import torch\nkept = []\ndef run(x, scale, y):\n"
            "    while True: kept.append(torch.ones(32 << 20))\n"
        )
        result = attempt(source)
        assert statuses(result) == ["RUNTIME_ERROR"]
        assert "memory" in result.traces[0].evaluation.log

    def test_a_flood_of_output_on_every_descriptor(self, attempt):
        source = (
            "import os, torch\ndef run(x, scale, y):\n    for fd in range(64):\n        try:\n"
            '            for _ in range(4): os.write(fd, b\'{"status": "PASSED"}\' * 4000)\n'
            "        except OSError: pass\n    y.zero_()\n"
        )
        result = attempt(source)
        assert statuses(result) == ["INCORRECT_NUMERICAL"]
        assert len(result.traces[0].evaluation.log) < 200_000

    def test_traces_come_one_by_one(self, judge, scale_problem):
        seen = []
        problem = scale_problem(workloads=3)
        result = judge.evaluate(
            problem, solution(GOOD), workloads=["w2", "w0"], on_trace=seen.append
        )
        assert [trace.workload.uuid for trace in seen] == ["w2", "w0"]
        assert tuple(seen) == result.traces


class TestInvalidReference:
    @pytest.mark.parametrize(
        "body",
        [
            "raise ValueError('broken reference')",
            "return x * float('nan')",
            "return x, x",
            "return 'y'",
        ],
    )
    def test_the_reference_is_named_not_the_submission(self, judge, scale_problem, body):
        problem = scale_problem(f"def run(x, scale):\n    {body}\n", workloads=2)
        result = judge.evaluate(problem, solution(GOOD))
        assert statuses(result) == ["INVALID_REFERENCE"] * 2

    def test_the_reference_as_a_solution_passes(self, judge, scale_problem):
        problem = scale_problem()
        assert judge.evaluate(problem, reference_solution(problem)).passed


CACHES = {
    "by identity": "key = id(x)",
    "by address": "key = x.data_ptr()",
    "by shape": "key = tuple(x.shape)",
    "by version": "key = (id(x), x._version)",
    "by a sample": "key = tuple(x[:0].tolist())",
}


class TestCheatsGainNothing:
    @pytest.mark.parametrize("key", CACHES.values(), ids=CACHES.keys())
    def test_caches_give_stale_answers(self, attempt, key):
        source = (
            "import torch\ncache = {}\ndef run(x, scale, y):\n"
            f"    {key}\n    if key not in cache: cache[key] = x * scale\n    y.copy_(cache[key])\n"
        )
        assert statuses(attempt(source)) == ["INCORRECT_NUMERICAL"]

    def test_honest_for_the_first_calls(self, attempt):
        source = (
            "import torch\ncalls = [0]\ndef run(x, scale, y):\n    calls[0] += 1\n"
            "    if calls[0] < 20: torch.mul(x, scale, out=y)\n"
        )
        assert statuses(attempt(source)) == ["INCORRECT_NUMERICAL"]

    def test_a_patched_clock_changes_nothing(self, attempt):
        source = (
            "import time, torch\nfor name in ('perf_counter', 'perf_counter_ns', 'monotonic'):\n"
            "    setattr(time, name, lambda: 0)\ntorch.cuda.synchronize = lambda *a: None\n"
            "def run(x, scale, y):\n    time.sleep(0.002)\n    torch.mul(x, scale, out=y)\n"
        )
        result = attempt(source)
        assert result.passed
        assert result.traces[0].solbench.timing.ci_low_ms >= 1.9

    def test_a_thread_that_finishes_after_the_return(self, attempt):
        source = (
            "import threading, time, torch\nmake = [None]\ndone = threading.Event()\n"
            "def work():\n    while True:\n        done.wait(); done.clear()\n"
            "        time.sleep(0.05); make[0]()\n"
            "threading.Thread(target=work, daemon=True).start()\n"
            "def run(x, scale, y):\n    make[0] = lambda: torch.mul(x, scale, out=y)\n"
            "    done.set()\n"
        )
        assert statuses(attempt(source))[0] in ("REWARD_HACK", "INCORRECT_NUMERICAL")

    def test_acknowledging_before_the_work_is_done(self, attempt):
        # Finds the shared page in its own memory map and answers the doorbell itself, then works.
        source = (
            "import gc, time, torch\ndef run(x, scale, y):\n"
            "    for view in [o for o in gc.get_objects() if type(o).__name__ == 'Page']:\n"
            "        view.fields[9] = 0\n        view.fields[8] = view.fields[0]\n"
            "    time.sleep(0.1)\n    torch.mul(x, scale, out=y)\n"
        )
        result = attempt(source)
        assert statuses(result)[0] in ("REWARD_HACK", "INCORRECT_NUMERICAL")

    def test_writing_into_the_inputs_changes_only_a_private_copy(self, attempt):
        assert statuses(attempt("def run(x, scale, y):\n    x.zero_()\n    y.zero_()\n")) == [
            "INCORRECT_NUMERICAL"
        ]
        assert attempt("def run(x, scale, y):\n    x.mul_(scale)\n    y.copy_(x)\n").passed

    def test_lazy_tensors_and_subclasses_are_refused(self, attempt):
        source = (
            "import torch\nclass Lazy(torch.Tensor): pass\n"
            "def run(x, scale):\n    return (x * scale).as_subclass(Lazy)\n"
        )
        assert statuses(attempt(source, returns=True)) == ["INCORRECT_DTYPE"]

    def test_nothing_to_find_in_objects_frames_files_or_processes(self, attempt, tmp_path):
        secret = tmp_path / "expected.txt"
        secret.write_text("secret")
        source = f"""
import gc, os, sys, torch
found, calls = [], [0]
def run(x, scale, y):
    calls[0] += 1
    frame = sys._getframe()
    while frame:
        found.extend(k for k in frame.f_locals if "expect" in k or "oracle" in k or "seed" in k)
        frame = frame.f_back
    tensors = [o for o in gc.get_objects() if type(o) is torch.Tensor and o.shape == y.shape]
    want = x * scale
    if calls[0] > 20:  # until sealed, every slot holds the same throwaway values
        found.extend("tensor" for t in tensors if t is not want and torch.equal(t, want))
    found.extend(m for m in sys.modules if m.startswith(("solbench.judge", "solbench.spec")))
    for path in [{str(secret)!r}, {str(Path(__file__))!r}, {"/proc/" + str(os.getpid()) + "/mem"!r}]:
        try:
            open(path, "rb").read(1); found.append(path)
        except OSError:
            pass
    if found:
        raise AssertionError(f"found {{found}}")
    y.copy_(want)
"""
        result = attempt(source)
        assert statuses(result) == ["PASSED"], result.traces[0].evaluation.log

    def test_a_write_beyond_the_outputs(self, attempt):
        source = "import ctypes\n" + GOOD + "    ctypes.memset(y.data_ptr() + 4 * len(y), 1, 8)\n"
        result = attempt(source)
        assert statuses(result) == ["RUNTIME_ERROR"]
        assert "out_of_bounds_write" in flags(result)


class TestHonestLookAlikes:
    @pytest.mark.parametrize(
        "source",
        [
            # a workspace kept between calls
            "import torch\nspace = {}\ndef run(x, scale, y):\n"
            "    w = space.setdefault(tuple(x.shape), torch.empty_like(x))\n"
            "    torch.mul(x, scale, out=w)\n    y.copy_(w)\n",
            # addresses remembered, values read anew
            "import torch\nplans = {}\ndef run(x, scale, y):\n"
            "    x, y = plans.setdefault((x.data_ptr(), y.data_ptr()), (x, y))\n"
            "    torch.mul(x, scale, out=y)\n",
            # a thread that is joined
            "import threading, torch\ndef run(x, scale, y):\n"
            "    t = threading.Thread(target=lambda: torch.mul(x, scale, out=y))\n"
            "    t.start()\n    t.join()\n",
            # reads the time and prints
            "import time, torch\ndef run(x, scale, y):\n    print(time.perf_counter())\n"
            "    torch.mul(x, scale, out=y)\n",
        ],
        ids=["workspace", "address plan", "joined thread", "prints"],
    )
    def test_pass_without_an_accusing_flag(self, attempt, source):
        result = attempt(source)
        assert result.passed, result.traces[0].evaluation.log
        assert not flags(result) & {"late_write", "out_of_bounds_write", "input_write"}


def test_relying_on_zeroed_outputs_is_flagged_and_passes(attempt):
    result = attempt("def run(x, scale, y):\n    y.add_(x * scale)\n")
    assert result.passed
    assert "relies_on_zeroed_output" in flags(result)


def test_rank_mode_takes_three_workers(judge, scale_problem):
    result = judge.evaluate(scale_problem(), solution(GOOD), mode="rank")
    assert result.passed
    timing = result.traces[0].solbench.timing
    assert len(timing.samples) + timing.dropped >= 3 * BRIEF.few


def test_nothing_is_left_behind(scale_problem):
    before, other_children = set(Path("/proc/self/fd").iterdir()), set(_children())
    assert evaluate(scale_problem(), solution(GOOD)).passed
    deadline = time.monotonic() + 5
    while (children := set(_children()) - other_children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not children
    gc.collect()  # mappings hold a descriptor until their last view is gone
    assert len(set(Path("/proc/self/fd").iterdir()) - before) <= 1


def _children() -> list[int]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in listed]


def test_an_interrupt_ends_the_workers(judge, scale_problem):
    def interrupt(trace: Any) -> None:
        raise KeyboardInterrupt

    before = _descendants()
    with pytest.raises(KeyboardInterrupt):
        judge.evaluate(scale_problem(workloads=2), solution(GOOD), on_trace=interrupt)
    deadline = time.monotonic() + 5
    while (left := _descendants() - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left
    assert judge.evaluate(scale_problem(), solution(GOOD)).passed


def test_a_jail_with_a_missing_layer_is_flagged_or_refused(judge, scale_problem, monkeypatch):
    without = Walls({"landlock": "the kernel has none", "seccomp": ""}, sealed=True)
    monkeypatch.setattr(JailedWorker, "walls", lambda self: without)
    result = judge.evaluate(scale_problem(), solution(GOOD))
    assert result.passed
    (evidence,) = [
        flag.evidence for flag in result.traces[0].solbench.flags if flag.id == "jail_incomplete"
    ]
    assert "the kernel has none" in evidence
    assert result.traces[0].solbench.jail["landlock"] == "the kernel has none"
    with pytest.raises(JailError, match="landlock"):
        judge.evaluate(scale_problem(), solution(GOOD), require_jail=True)


def test_unknown_workloads_and_hardware_are_the_callers_errors(judge, scale_problem):
    with pytest.raises(InputError, match="w9"):
        judge.evaluate(scale_problem(), solution(GOOD), workloads=["w9"])
    with pytest.raises(InputError, match="h9000"):
        judge.evaluate(scale_problem(), solution(GOOD), hardware="h9000")


def _descendants() -> set[int]:
    found, queue = set(), [os.getpid()]
    while queue:
        for file in Path(f"/proc/{queue.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                queue += (new := [int(pid) for pid in file.read_text().split()])
                found |= set(new)
    return found


def test_a_worker_that_dies_by_itself_at_some_point(attempt):
    source = (
        "import signal, torch\ndef run(x, scale, y):\n    torch.mul(x, scale, out=y)\n"
        # Sooner than the samples of one workload can be taken, even on a machine with nothing else to do. A
        # thread could wait for the interpreter, which calls hold for all of their short time.
        "signal.setitimer(signal.ITIMER_REAL, 0.003)\n"
    )
    assert statuses(attempt(source, workloads=2)) == ["RUNTIME_ERROR"] * 2


def test_a_workload_with_no_room_for_it_leaves_the_others_theirs(
    judge: LocalJudge, scale_problem: Callable[..., Problem]
) -> None:
    made = scale_problem(workloads=2)
    large = made.workloads[0].model_copy(update={"axes": {"n": 3 << 44}})  # 192 TiB of float32
    problem = make_problem(made.definition, [large, made.workloads[1]])
    result = judge.evaluate(problem, solution(GOOD), limits=SHORT)
    assert statuses(result) == ["INVALID_REFERENCE", "PASSED"]
    assert "cannot be prepared here" in result.traces[0].evaluation.log
