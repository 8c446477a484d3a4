"""Evaluations in a row, and what each leaves behind: processes, descriptors, shared memory, folders, memory.

Target: nothing, and at most 50 MB of memory, over 1,000 on a CPU and 200 on a GPU. Honest, wrong, raising and
dying submissions take turns, on the judge that a service would keep warm.

    python benchmarks/judge/leaks.py [--device cpu] [--evaluations 1000]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter, sleep

sys.path.insert(0, str(Path(__file__).parents[1]))

import solbench
from solbench.judge import Budget, EvaluationResult, Judge, StopRule
from solbench.judge.attacks import Submission
from solbench.spec import Definition, Problem, Workload, make_problem

ALLOWED_GROWTH_BYTES = 50_000_000
WARM_UP = 12
"""Evaluations before the first look: caches, pools and modules come into being."""

_BRIEF = StopRule(minimum=2, least=2, seconds=0.02, relative=1.0)

SUBMISSIONS = {
    "honest": "import torch\ndef run(x, y):\n    torch.mul(x, 3.0, out=y)\n",
    "wrong": "def run(x, y):\n    y.fill_(1.0)\n",
    "raising": "def run(x, y):\n    raise ValueError('no')\n",
    "dying": "import os\ndef run(x, y):\n    os._exit(3)\n",
    "untidy": (
        "import threading, time, torch\n"
        "for _ in range(3):\n"
        "    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
        "kept = [open('/dev/null') for _ in range(20)]\n"
        "open('left behind', 'w').write('x' * 10000)\n"
        "def run(x, y):\n    torch.mul(x, 3.0, out=y)\n"
    ),
}
"""Which take turns."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What this process and all that it started hold at a moment: the judge's process and its zygote."""

    processes: int
    """This one included."""
    descriptors: int
    shared_memory: int
    """Mappings of anonymous shared files and of ``/dev/shm``."""
    folders: int
    """Temporary folders of ours, and the workers' within them."""
    memory_bytes: int
    """Anonymous and shared memory that is resident."""


def footprint() -> Footprint:
    """Of this process and its descendants, once none of them is about to begin or end."""
    pids: set[int] = set()
    for _ in range(100):
        before, pids = pids, {os.getpid(), *_descendants(os.getpid())}
        if pids == before:
            with contextlib.suppress(OSError):
                return _footprint(pids)
        sleep(0.05)
    raise SystemExit("processes come and go without end")


def _footprint(pids: set[int]) -> Footprint:
    """Raises ``OSError`` if one of them is gone."""
    return Footprint(
        processes=len(pids),
        descriptors=sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids),
        shared_memory=sum(
            "/memfd:" in line or "/dev/shm/" in line
            for pid in pids
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
        ),
        folders=len(list(_own_folders())),
        memory_bytes=sum(_memory_bytes(pid) for pid in pids),
    )


def _own_folders() -> Iterator[Path]:
    for folder in Path(tempfile.gettempdir()).glob("solbench-*"):
        yield folder
        if os.access(folder, os.R_OK):
            yield from folder.glob("worker-*")


def _descendants(pid: int) -> set[int]:
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, path.read_text().split()):
                found |= {child, *_descendants(child)}
    return found


def _memory_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(
        int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon", "RssSh"))
    )


def small_problem() -> Problem:
    """Two workloads of one elementwise call."""
    definition = Definition.model_validate(
        {
            "name": "small",
            "axes": {"n": {"type": "var"}},
            "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
            "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
            "reference": "def run(x):\n    return x * 3.0\n",
        }
    )
    workloads = [
        Workload.model_validate(
            {"uuid": f"small-{size}", "axes": {"n": size}, "inputs": {}, "tolerance": {}}
        )
        for size in (1000, 100_000)
    ]
    return make_problem(definition, workloads)


def evaluate_in_a_row(
    device: str, count: int, looked: Callable[[int, Footprint], None], warm_up: int = WARM_UP
) -> tuple[Footprint, Footprint]:
    """What the judge holds after a warm-up, and after ``count`` further evaluations.

    Folders are looked for where ``tempfile`` makes them: give it a folder of its own first.
    """
    problem = small_problem()
    solutions = [Submission(source).solution(problem, name) for name, source in SUBMISSIONS.items()]
    with Judge(device, budgets={"reward": Budget(_BRIEF, _BRIEF)}) as judge:
        for solution in islice(cycle(solutions), warm_up):
            judge.evaluate(problem, solution)
        before = footprint()
        for number, solution in enumerate(islice(cycle(solutions), count), start=1):
            _expect(judge.evaluate(problem, solution), solution.name)
            if number % 50 == 0:
                looked(number, footprint())
        return before, footprint()


def _expect(result: EvaluationResult, name: str) -> None:
    """The verdict must be the one that the submission deserves, a thousand times."""
    if result.passed == (name in ("honest", "untidy")):
        return
    verdicts = [
        (trace.evaluation.status, trace.evaluation.log, trace.solbench and trace.solbench.flags)
        for trace in result.traces
    ]
    raise SystemExit(f"unexpected verdict on '{name}': {verdicts}")


def leaks(before: Footprint, after: Footprint) -> dict[str, int]:
    """What grew, by how much; empty if nothing did, or memory no more than allowed."""
    growth = {key: value - asdict(before)[key] for key, value in asdict(after).items()}
    allowed = {"memory_bytes": ALLOWED_GROWTH_BYTES}
    return {key: value for key, value in growth.items() if value > allowed.get(key, 0)}


def main() -> None:
    from _record import record

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--evaluations", type=int, default=1000)
    options = parser.parse_args()
    course: list[dict[str, int]] = []

    def looked(number: int, seen: Footprint) -> None:
        course.append({"evaluations": number, **asdict(seen)})
        print(number, asdict(seen), flush=True)

    start = perf_counter()
    with tempfile.TemporaryDirectory() as own:
        tempfile.tempdir = own
        before, after = evaluate_in_a_row(options.device, options.evaluations, looked)
    numbers = {
        "device": options.device,
        "evaluations": options.evaluations,
        "seconds": perf_counter() - start,
        "solbench": solbench.__version__,
        "memory_growth_bytes": after.memory_bytes - before.memory_bytes,
        "before": asdict(before),
        "after": asdict(after),
        "leaks": leaks(before, after),
        "course": course[:: max(1, len(course) // 10)],
    }
    record("judge-leaks", numbers)
    print("leaks:", numbers["leaks"] or "none")


if __name__ == "__main__":
    main()
