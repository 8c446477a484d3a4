"""How long `solbench eval` takes to a verdict where nothing is warm: new processes, an empty cache each time.

python3 benchmarks/judge/cold_start.py                                   # a CUDA solution, on a GPU
python3 benchmarks/judge/cold_start.py --device cpu --solution cpp
python3 benchmarks/judge/cold_start.py --before /path/of/another/checkout  # in turns: compare by the ratio
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
from _record import record  # noqa: E402

TARGET_S = 10.0
COMMAND = "from solbench.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Start:
    """One run of the command. Times are from its start."""

    first_s: float
    """To the first workload's verdict."""
    last_s: float
    """To the last one's."""
    ended_s: float
    statuses: tuple[str, ...]
    phases: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Part → when it first began, and how long it took in all."""


def main() -> None:
    options = arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    now: list[Start] = []
    before: list[Start] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.repeats + options.warm):
            now.append(run(options, ROOT, Path(folder, "now"), "--phases"))
            show(number, "now", now[-1])
            if options.before is not None:
                before.append(run(options, options.before, Path(folder, "before")))
                show(number, "before", before[-1])
    if options.warm:  # the first ones fill the caches
        now, before = now[1:], before[1:]
    record("judge-cold-start", summary(options, now, before))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--problem", default="rmsnorm", help="an example's folder")
    parser.add_argument(
        "--solution", default="cuda", help="NAME of the example's solution_NAME.json"
    )
    parser.add_argument("--workloads", type=int, default=0, help="the first so many; 0: all")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--before", type=Path, help="another checkout, run in turns with this one")
    parser.add_argument("--warm", action="store_true", help="keep the caches; processes are new")
    return parser.parse_args()


def evaluation(options: argparse.Namespace, checkout: Path) -> list[str]:
    folder = checkout.resolve() / "examples" / options.problem
    file = "workload.jsonl" if options.device == "cpu" else "workload_gpu.jsonl"
    lines = (folder / file).read_text().splitlines()[: options.workloads or None]
    chosen = [word for line in lines for word in ("--workload", json.loads(line)["uuid"])]
    return [
        "eval", str(folder), "--solution", str(folder / f"solution_{options.solution}.json"),
        "--device", options.device, "--workloads-file", file, *chosen, "--json",
    ]  # fmt: skip


def run(options: argparse.Namespace, checkout: Path, home: Path, *more: str) -> Start:
    """With a home of its own, which is empty unless caches are kept."""
    if not options.warm:
        shutil.rmtree(home, ignore_errors=True)
    home.mkdir(exist_ok=True)
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "SOLBENCH_CACHE_DIR"), str(home))
    path = str(checkout.resolve() / "src")
    began_s = monotonic()
    running = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *evaluation(options, checkout), *more],
        env={**os.environ, **places, "PYTHONPATH": path}, text=True, stdout=subprocess.PIPE, cwd=home,
    )  # fmt: skip
    assert running.stdout is not None
    with running.stdout as lines:
        told = [(json.loads(line), monotonic() - began_s) for line in lines]
    running.wait()
    return start_of(told, monotonic() - began_s)


def start_of(told: Sequence[tuple[dict[str, Any], float]], ended_s: float) -> Start:
    """From the lines of the command and when each came."""
    traces = [(line, at_s) for line, at_s in told if "evaluation" in line]
    if not traces:
        raise SystemExit(f"no verdict came: {told[-1][0] if told else 'not a line'}")
    phases: dict[str, tuple[float, float]] = {}
    for line, _ in told:
        for phase in line.get("phases", ()):
            began_s, seconds = phases.get(phase["name"], (phase["began_s"], 0.0))
            phases[phase["name"]] = began_s, seconds + phase["seconds"]
    return Start(
        traces[0][1],
        traces[-1][1],
        ended_s,
        tuple(line["evaluation"]["status"] for line, _ in traces),
        phases,
    )


def show(number: int, which: str, start: Start) -> None:
    print(
        f"{number:3} {which:7}{start.first_s:7.2f} s to the first verdict{start.last_s:7.2f} s to the last"
        f"{start.ended_s:7.2f} s to the end  {', '.join(sorted(set(start.statuses)))}"
    )
    for name, (began_s, seconds) in start.phases.items():
        print(f"{'':11}{began_s:7.2f} s {name:12}{seconds:7.2f} s")


def summary(
    options: argparse.Namespace, now: Sequence[Start], before: Sequence[Start]
) -> dict[str, Any]:
    ratios = [ours.last_s / theirs.last_s for ours, theirs in zip(now, before, strict=False)]
    return {
        "device": options.device,
        "solution": f"{options.problem}/{options.solution}",
        "caches": "kept" if options.warm else "empty",
        "target_s": TARGET_S,
        "verdict_s": median(each.last_s for each in now),
        "all_passed": all({*each.statuses} == {"PASSED"} for each in (*now, *before)),
        "share_of_before": median(ratios) if ratios else None,
        "ratios": ratios,
        "runs": [asdict(each) for each in now],
        "runs_before": [asdict(each) for each in before],
    }


if __name__ == "__main__":
    main()
