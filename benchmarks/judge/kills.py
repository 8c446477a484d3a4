"""Kills at random times, and what is left after each: nothing, and a judge that goes on.

Target: whichever process is killed whenever, every workload has a verdict, every line of the records is whole,
no process, folder, shared memory or mount is left, and the next evaluation passes.

    python benchmarks/judge/kills.py [--kills 60] [--seed 1] [--seconds 3600]

Victims take turns: workers, zygotes, builders, the judge's process, and a caller with all it has started.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from _remains import Remains, Watch, builders, judges, remains, workers, zygotes
from leaks import SUBMISSIONS, small_problem

import solbench
from solbench.cli._records import appending
from solbench.judge import Budget, Judge, StopRule
from solbench.judge.attacks import Submission
from solbench.spec import Solution, Trace, read_trace_lines, trace_line

_BRIEF = StopRule(minimum=2, least=2, seconds=0.02, relative=1.0)
BUDGETS = {"reward": Budget(_BRIEF, _BRIEF)}
PROBLEM = small_problem()
_SHARE, _BUILDERS_SHARE = 0.8, 0.2
"""Of an evaluation's usual time, within which to kill: later there may be nothing of the kind any more."""
SETTLE_S = 20.0
"""A machine that is busy takes its time to end what was killed."""

NATIVE = """
#include "solbench.h"
// number {number}: no cache knows it
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void*) {{
  for (int64_t i = 0; i < inputs[0]->shape[0]; ++i)
    ((float*)outputs[0]->data)[i] = ((const float*)inputs[0]->data)[i] * 3.0f;
  return 0;
}}
"""


def python_solution() -> Solution:
    return Submission(SUBMISSIONS["honest"]).solution(PROBLEM, "honest")


def native_solution(number: int) -> Solution:
    return Submission(NATIVE.format(number=number), language="cpp").solution(PROBLEM, "native")


VICTIMS: dict[str, Callable[[], list[int]]] = {
    "worker": workers,
    "zygote": zygotes,
    "builder": builders,
    "judge": judges,
}

TURNS = (
    "worker", "builder", "zygote", "worker", "judge", "builder",
    "worker", "zygote", "builder", "worker", "caller", "builder",
)  # fmt: skip
"""What is soon started again comes more often."""

ALLOWED = {
    "worker": {"PASSED", "RUNTIME_ERROR"},
    "zygote": {"PASSED", "RUNTIME_ERROR"},
    "builder": {"PASSED", "COMPILE_ERROR"},
    # Killed while the problem's own code ran, this counts as that code's doing.
    "judge": {"PASSED", "INVALID_REFERENCE"},
    "caller": {"PASSED"},
}
"""Verdicts that a kill may lead to."""


class Killer(threading.Thread):
    """Kills one process of a kind, ``delay_s`` after the first of them is there."""

    def __init__(self, kind: str, delay_s: float, choose: random.Random) -> None:
        super().__init__(daemon=True)
        self._find, self._delay_s, self._choose = VICTIMS[kind], delay_s, choose
        self._over = threading.Event()
        self.killed_pid = 0

    def run(self) -> None:
        self._await_some()
        self._over.wait(self._delay_s)
        while not self.killed_pid and (found := self._await_some()):
            self._kill(self._choose.choice(found))

    def _await_some(self) -> list[int]:
        """Empty once the evaluation is over."""
        while not self._over.is_set():
            if found := self._find():
                return found
            self._over.wait(0.002)
        return []

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.killed_pid = pid

    def end(self) -> None:
        self._over.set()
        self.join()


# One kill.


@dataclass(slots=True)
class Kill:
    """What came of one."""

    victim: str
    delay_s: float
    killed: bool = False
    """There was such a process before the evaluation was over."""
    statuses: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Range:
    """The place where it happens: a warm judge, a folder of its own, records."""

    def __init__(self, own: Path, seed: int) -> None:
        self._own, self._records = own, own / "records.jsonl"
        self._random, self._numbers = random.Random(seed), count()
        self._judge = Judge("cpu", budgets=BUDGETS)
        self._usual_s = {"python": 0.0, "native": 0.0, "caller": 0.0}
        self._expected_lines = 0

    def close(self) -> None:
        self._judge.close()

    def warm_up(self) -> None:
        """The second of each kind takes the usual time."""
        for _ in range(2):
            for kind in ("python", "native"):
                start = time.perf_counter()
                self._evaluate(self._solution(kind))
                self._usual_s[kind] = time.perf_counter() - start
        start = time.perf_counter()
        self._start_caller().wait()
        self._usual_s["caller"] = time.perf_counter() - start
        self._expected_lines = len(_whole_lines(self._records))

    def kill(self, victim: str) -> Kill:
        kind = {"builder": "native", "caller": "caller"}.get(victim, "python")
        share = _BUILDERS_SHARE if victim == "builder" else _SHARE
        result = Kill(victim, self._random.uniform(0, share * self._usual_s[kind]))
        watch, before = Watch(), remains(self._own, set())
        watch.start()
        try:
            if victim == "caller":
                self._kill_caller(result)
            else:
                self._kill_within(result, self._solution(kind))
            self._go_on(result)
        except Exception as error:  # noqa: BLE001 - what is raised is the finding
            result.faults.append(f"raised {type(error).__name__}: {error}")
        finally:
            watch.end()
        result.faults += self._left(before, watch.seen)
        return result

    def _solution(self, kind: str) -> Solution:
        return native_solution(next(self._numbers)) if kind == "native" else python_solution()

    def _evaluate(self, solution: Solution) -> list[str]:
        with appending(self._records) as append:

            def keep(trace: Trace) -> None:
                append(trace_line(trace))

            result = self._judge.evaluate(PROBLEM, solution, on_trace=keep)
        return [trace.evaluation.status for trace in result.traces]

    def _kill_within(self, result: Kill, solution: Solution) -> None:
        killer = Killer(result.victim, result.delay_s, self._random)
        killer.start()
        try:
            result.statuses = self._evaluate(solution)
        finally:
            killer.end()
            result.killed = bool(killer.killed_pid)
        self._expected_lines += len(PROBLEM.workloads)
        if len(result.statuses) != len(PROBLEM.workloads):
            result.faults.append(f"{len(result.statuses)} verdicts")
        surprising = set(result.statuses) - ALLOWED[result.victim]
        if surprising:
            result.faults.append(f"verdicts {sorted(surprising)}")

    def _start_caller(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, __file__, "--be-caller", str(self._records)],
            env={**os.environ, "TMPDIR": str(self._own)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _kill_caller(self, result: Kill) -> None:
        process = self._start_caller()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(result.delay_s)
        result.killed = process.poll() is None
        process.kill()
        process.wait()
        # It may have written any number of them; each must be whole, but for the last.
        lines = self._records.read_bytes()
        if lines and not lines.endswith(b"\n"):
            result.faults.append("the last record is torn")
        self._expected_lines = lines.count(b"\n")

    def _go_on(self, result: Kill) -> None:
        """The next evaluation passes, and all records can be read."""
        statuses = self._evaluate(python_solution())
        self._expected_lines += len(statuses)
        if statuses != ["PASSED"] * len(PROBLEM.workloads):
            result.faults.append(f"the next evaluation gave {statuses}")
        lines = len(_whole_lines(self._records))
        if lines != self._expected_lines:
            result.faults.append(f"{lines} records where {self._expected_lines} should be")

    def _left(self, before: Remains, seen: set[int]) -> list[str]:
        """What is still there after a while."""
        left: list[str] = []
        end = time.monotonic() + SETTLE_S
        while time.monotonic() < end:
            left = remains(self._own, seen).beyond(before)
            if not left:
                break
            time.sleep(0.2)
        return left


def _whole_lines(records: Path) -> tuple[Trace, ...]:
    traces, errors = read_trace_lines(records)
    if errors:
        raise errors[0]
    return traces


def be_caller(records: Path) -> None:
    """One evaluation, recorded as ``solbench eval`` does."""
    with appending(records) as append, Judge("cpu", budgets=BUDGETS) as judge:

        def keep(trace: Trace) -> None:
            append(trace_line(trace))

        judge.evaluate(PROBLEM, python_solution(), on_trace=keep)


def main() -> None:
    from _record import record

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no other later")
    parser.add_argument("--be-caller", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be_caller is not None:
        be_caller(options.be_caller)
        return
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as own:
        tempfile.tempdir = own
        os.environ["SOLBENCH_CACHE_DIR"] = str(Path(own) / "cache")
        kills = kill_many(Path(own), options.kills, options.seed, start + options.seconds)
    faults = [
        f"{each.victim} at {each.delay_s:.3f} s: {', '.join(each.faults)}"
        for each in kills
        if each.faults
    ]
    numbers = {
        "kills": sum(each.killed for each in kills),
        "nothing_to_kill": sum(not each.killed for each in kills),
        "by_victim": dict(Counter(each.victim for each in kills if each.killed)),
        "verdicts": _verdicts(kills),
        "faults": faults,
        "seconds": time.perf_counter() - start,
        "solbench": solbench.__version__,
    }
    record("judge-kills", numbers)
    print("faults:", faults or "none")


def kill_many(own: Path, wanted: int, seed: int, end_s: float) -> list[Kill]:
    """Until so many processes have been killed, or time is over; those that came too late are listed too."""
    kills: list[Kill] = []
    place = Range(own, seed)
    try:
        place.warm_up()
        while sum(each.killed for each in kills) < wanted and time.perf_counter() < end_s:
            kills.append(place.kill(TURNS[len(kills) % len(TURNS)]))
            print(len(kills), kills[-1], flush=True)
    finally:
        place.close()
    return kills


def _verdicts(kills: list[Kill]) -> dict[str, dict[str, int]]:
    """Victim → verdict → workloads."""
    return {
        victim: dict(
            Counter(s for k in kills if k.victim == victim and k.killed for s in k.statuses)
        )
        for victim in VICTIMS
    }


if __name__ == "__main__":
    main()
