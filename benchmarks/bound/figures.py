"""The figures that the bound must reach, measured beside their targets.

    python benchmarks/bound/figures.py                        # whole suite, all workloads
    python benchmarks/bound/figures.py --workloads first      # the first of each problem
    python benchmarks/bound/figures.py --workloads none       # verification of the first of each, and no more
    python benchmarks/bound/figures.py --corpus FOLDER        # `Model` modules of one's own as well

Nothing here needs a GPU: what kernels reach is read from the newest record of ``measured_kernels.py``. Times
are of this machine as it is: on a busy one look at CPU seconds, not at the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
from _record import RESULTS, record  # noqa: E402

from solbench.bound import Bound, bound_lines  # noqa: E402

CASES = ("test_cases.py", "test_adversarial.py", "test_second_opinion.py")
"""Hand-worked programs with exact FLOPs and bytes, one a parameter."""
LISTED = 40
"""Failures named in a record, at most."""


@dataclass(frozen=True)
class Batch:
    """Bounds of many workloads, and what they took."""

    bounds: list[Bound]
    wall_s: float
    cpu_s: float
    peak_gb: float
    """Most resident memory that one worker process had, whatever it did before."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", choices=("first", "all", "none"), default="all")
    parser.add_argument("--verify", choices=("first", "all", "none"), default="first")
    parser.add_argument("--corpus", type=Path, help="folder of Model modules")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--no-cases", action="store_true", help="do not run the hand-worked cases")
    options = parser.parse_args()
    numbers: dict[str, Any] = {"load_average": os.getloadavg()[0], "jobs": options.jobs}
    with tempfile.TemporaryDirectory() as folder:
        suites = {w: exported(Path(folder) / w, w) for w in ("first", "all")}
        if options.workloads != "none":
            numbers |= suite_figures(derived([suites[options.workloads]], options.jobs))
        if options.corpus:
            numbers |= corpus_figures(derived([options.corpus], options.jobs))
        if options.verify != "none":
            found = derived([suites[options.verify]], options.jobs, verify=True)
            numbers |= verified_figures(found)
    if not options.no_cases:
        numbers |= case_figures()
    numbers |= kernel_figures()
    show(numbers)
    record("bound-figures", numbers)


def exported(folder: Path, workloads: str) -> Path:
    """The suite as problem folders, with all workloads or the first of each."""
    from solbench import suite

    for name in suite.names():
        suite.export(name, folder)
    if workloads == "first":
        for file in folder.rglob("workload.jsonl"):
            file.write_text(file.read_text().splitlines()[0] + "\n")
    return folder


def derived(paths: Sequence[Path], jobs: int, *, verify: bool = False) -> Batch:
    """Bounds on an H200, with a mark on stderr for every hundred.

    In a process of its own: the peak of memory is that of all workers which a process has ever had, so those of
    one batch must not be seen by the next.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(_derived, list(paths), jobs, verify).result()


def _derived(paths: list[Path], jobs: int, verify: bool) -> Batch:
    start, bounds = perf_counter(), []
    for bound in bound_lines(paths, "h200", jobs=jobs, verify=verify):
        bounds.append(bound)
        if len(bounds) % 100 == 0:
            print(f"{len(bounds)} bounds, {perf_counter() - start:.0f} s", file=sys.stderr)
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = workers.ru_utime + workers.ru_stime
    return Batch(bounds, perf_counter() - start, cpu_s, workers.ru_maxrss * 1024 / 1e9)


def suite_figures(batch: Batch) -> dict[str, Any]:
    seconds = [b.seconds for b in batch.bounds]
    slowest = sorted(batch.bounds, key=lambda b: -b.seconds)[:10]
    undecided = [b for b in batch.bounds if b.admission and b.admission.status == "undecided"]
    return {
        "suite_workloads": len(batch.bounds),
        "suite_problems": len({b.problem for b in batch.bounds}),
        "suite_incomplete": sum(not b.complete for b in batch.bounds),
        "suite_incomplete_list": failures(batch.bounds),
        "suite_precision_undecided": len(undecided),
        "suite_precision_undecided_list": sorted({b.problem for b in undecided}),
        "suite_median_s": statistics.median(seconds),
        "suite_wall_s": batch.wall_s,
        "suite_cpu_s": batch.cpu_s,
        "suite_peak_gb": batch.peak_gb,
        "suite_slowest": [[b.problem, b.workload, b.seconds] for b in slowest],
    }


def corpus_figures(batch: Batch) -> dict[str, Any]:
    return {
        "corpus_programs": len(batch.bounds),
        "corpus_complete": sum(b.complete for b in batch.bounds),
        "corpus_failures": failures(batch.bounds),
        "corpus_cpu_s": batch.cpu_s,
    }


def verified_figures(batch: Batch) -> dict[str, Any]:
    open_points = [b for b in batch.bounds if not b.verified]
    whole = [b for b in batch.bounds if not any("not replayed" in u for u in b.unverified)]
    return {
        "verified": len(batch.bounds) - len(open_points),
        "verified_of": len(batch.bounds),
        "verified_replayed_whole": len(whole),
        "verified_open": [[b.problem, list(b.unverified), b.error] for b in open_points][:LISTED],
        "verified_median_s": statistics.median(b.seconds for b in batch.bounds),
        "verified_wall_s": batch.wall_s,
        "verified_cpu_s": batch.cpu_s,
        "verified_peak_gb": batch.peak_gb,
    }


def failures(bounds: Iterable[Bound]) -> list[list[Any]]:
    rows = ([b.problem, b.workload, b.error or b.unknown_ops] for b in bounds if not b.complete)
    return list(rows)[:LISTED]


def case_figures() -> dict[str, Any]:
    """How many hand-worked cases pass, by pytest itself."""
    files = [str(ROOT / "tests/bound" / name) for name in CASES]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *files]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    counts = {w: int(n) for n, w in re.findall(r"(\d+) (passed|failed|error)", output)}
    return {
        "cases_exact": counts.get("passed", 0),
        "cases_wrong": counts.get("failed", 0) + counts.get("error", 0),
    }


def kernel_figures() -> dict[str, Any]:
    """From the newest record of kernels that were measured on a GPU."""
    files = sorted(RESULTS.glob("bound-measured-kernels-*.json"))
    if not files:
        return {"kernels_record": "none: run benchmarks/bound/measured_kernels.py on a GPU"}
    entry = json.loads(files[-1].read_text())
    rows = [row for row in entry["numbers"]["rows"] if "error" not in row]
    by_family: dict[str, list[float]] = {}
    for row in rows:
        by_family.setdefault(row["family"], []).append(row["ratio"])
    return {
        "kernels_record": files[-1].name,
        "kernels": len(rows),
        "kernels_below_t_sol": sum(row["least_us"] < row["t_sol_us"] for row in rows),
        "kernels_least_ratio_by_family": {f: min(v) for f, v in sorted(by_family.items())},
        "kernels_gaps_without_cause": sum(r["ratio"] > 1.5 and not r["cause"] for r in rows),
    }


ROWS = (
    ("problems of the suite without any incomplete bound", "235/235", "suite_analysed"),
    ("  incomplete workloads", "0", "suite_incomplete"),
    ("lifted graph verified, workloads", "all", "verified_share"),
    ("  peak memory of a worker that verifies, GB", "none", "verified_peak_gb"),
    ("hand-worked cases, exact", ">= 120, all", "cases_share"),
    ("corpus of Model modules analysed", ">= 99 %", "corpus_share"),
    ("median seconds a workload", "<= 0.2", "suite_median_s"),
    ("whole suite, wall s", "<= 600", "suite_wall_s"),
    ("whole suite, CPU s", "<= 1200", "suite_cpu_s"),
    ("peak memory of a worker that does not verify, GB", "<= 2", "suite_peak_gb"),
    ("measured kernels below T_SOL", "0", "kernels_below_t_sol"),
    ("gaps above 1.5 without a cause", "0", "kernels_gaps_without_cause"),
)


def show(numbers: dict[str, Any]) -> None:
    """The table; a dash where nothing was measured."""
    shown = dict(numbers)
    if "suite_problems" in numbers:
        failing = {row[0] for row in numbers["suite_incomplete_list"]}
        problems = numbers["suite_problems"]
        shown["suite_analysed"] = f"{problems - len(failing)}/{problems}"
    if "verified_of" in numbers:
        shown["verified_share"] = f"{numbers['verified']}/{numbers['verified_of']}"
    if "cases_exact" in numbers:
        total = numbers["cases_exact"] + numbers["cases_wrong"]
        shown["cases_share"] = f"{numbers['cases_exact']}/{total}"
    if "corpus_programs" in numbers:
        shown["corpus_share"] = f"{numbers['corpus_complete']}/{numbers['corpus_programs']}"
    print(f"{'figure':52}{'target':>14}  measured")
    for text, target, key in ROWS:
        value = shown.get(key, "-")
        print(f"{text:52}{target:>14}  {f'{value:.3g}' if isinstance(value, float) else value}")


if __name__ == "__main__":
    main()
