"""References of a stratified sample of the suite on a GPU: they run, none beats its bound, memory fits.

    PYTHONPATH=src python3 benchmarks/device/suite_sample.py                 # 72 problems, two workloads each
    PYTHONPATH=src python3 benchmarks/device/suite_sample.py --problems 4 --smoke --device cpu   # a trial

Of every tier, family, direction and precision at least one problem is taken, the rest in turns. A time is the
least of five event pairs with cold caches; events read a little too long, never too short.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
import torch  # noqa: E402
from _cuda_clock import Flush, event_ms  # noqa: E402
from _record import record  # noqa: E402
from _workloads import input_bytes, spread_over_sizes  # noqa: E402

from solbench import spec, suite  # noqa: E402
from solbench.bound import Bound, bound_lines  # noqa: E402
from solbench.hardware import load_hardware  # noqa: E402

SAMPLES = 5
SLOW = 1000.0
"""A reference this many times slower than T_attainable says little about the kernels that replace it."""
DECLARED_LIMIT = 8 << 30
"""Bytes of inputs and outputs that a workload may declare; a reference's own intermediates come on top."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One problem with the workloads that are run."""

    problem: spec.Problem
    tier: str
    family: str
    direction: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=72)
    parser.add_argument("--tiers", nargs="*", default=list(suite.TARGET))
    parser.add_argument("--workloads", type=int, default=2)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--smoke", action="store_true", help="small workloads, to try the script")
    parser.add_argument("--seconds", type=float, default=240.0, help="start nothing after this")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if options.device != "cpu" and not torch.cuda.is_available():
        print("no CUDA device here: nothing measured")
        return
    began = perf_counter()
    chosen = [cut(each, options) for each in sample(options.problems, options.tiers)]
    bounds = bounds_of(chosen, options.hardware)
    print(f"{len(chosen)} problems, bounds in {perf_counter() - began:.1f} s")
    clock = Clock(options.device, load_hardware(options.hardware).l2_bytes)
    rows = list(measured(chosen, bounds, clock, began + options.seconds))
    record("suite-sample", summary(rows, options.hardware))


def sample(count: int, tiers: Sequence[str]) -> list[suite.ProblemSource]:
    """One problem of each stratum in turns, tiers in turns, until there are enough."""
    strata: dict[tuple[str, ...], list[suite.ProblemSource]] = defaultdict(list)
    for source in suite.catalogue().values():
        problem = source.problem
        key = (problem.tier, problem.family, problem.direction, suite.precision(problem))
        strata[key].append(source)
    lines = [
        [
            members[depth]
            for depth in range(max(map(len, strata.values())))
            for key, members in strata.items()
            if key[0] == tier and depth < len(members)
        ]
        for tier in tiers
    ]
    turns = (each for turn in zip_longest(*lines) for each in turn if each is not None)
    return list(islice(turns, count))


def cut(source: suite.ProblemSource, options: argparse.Namespace) -> Chosen:
    """Workloads spread over the sizes: the largest, and one from the middle."""
    whole = suite.load(source.name, smoke=options.smoke)
    picked = spread_over_sizes(whole, options.workloads)
    problem = source.problem
    return Chosen(
        spec.make_problem(whole.definition, picked), problem.tier, problem.family, problem.direction
    )


def bounds_of(chosen: Sequence[Chosen], hardware: str) -> dict[str, Bound]:
    """By workload; derived on all cores from exported folders."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = [written(each.problem, Path(scratch)) for each in chosen]
        return {bound.workload: bound for bound in bound_lines(folders, hardware)}


def written(problem: spec.Problem, scratch: Path) -> Path:
    folder = scratch / problem.name
    folder.mkdir()
    spec.write_json(folder / "definition.json", problem.definition)
    lines = "".join(spec.workload_line(workload) + "\n" for workload in problem.workloads)
    (folder / "workload.jsonl").write_text(lines, encoding="utf-8")
    return folder


class Clock:
    """Milliseconds of a call with cold caches, and the memory it took."""

    def __init__(self, device: str, l2_bytes: int) -> None:
        self.device = device
        self._cuda = device != "cpu"
        self._flush = Flush(device, l2_bytes) if self._cuda else None

    def least_ms(self, run: Callable[[], Any]) -> tuple[float, int]:
        run()
        if self._cuda:
            torch.cuda.reset_peak_memory_stats()
        times = [self._once(run) for _ in range(SAMPLES)]
        return min(times), torch.cuda.max_memory_allocated() if self._cuda else 0

    def _once(self, run: Callable[[], Any]) -> float:
        if self._flush is None:
            start = perf_counter()
            run()
            return 1e3 * (perf_counter() - start)
        self._flush()
        return event_ms(run)


def measured(
    chosen: Sequence[Chosen], bounds: dict[str, Bound], clock: Clock, until: float
) -> Iterator[dict[str, Any]]:
    print(f"{'problem':56}{'GiB':>7}{'ref ms':>10}{'T_SOL':>10}{'x':>9}{'x att.':>9}")
    for each in chosen:
        for workload in each.problem.workloads:
            if perf_counter() > until:
                print(f"{each.problem.name}: out of time")
                return
            yield one(each, workload, bounds[workload.uuid], clock)


def one(each: Chosen, workload: spec.Workload, bound: Bound, clock: Clock) -> dict[str, Any]:
    """A row; whatever goes wrong becomes one, so that the others still run."""
    problem = each.problem
    row: dict[str, Any] = {
        "problem": problem.name, "tier": each.tier, "family": each.family,
        "direction": each.direction, "axes": dict(workload.axes),
        "input_bytes": input_bytes(problem, workload),
        "t_sol_ms": bound.t_sol_ms, "t_attainable_ms": bound.t_attainable_ms,
    }  # fmt: skip
    try:
        inputs = spec.make_inputs(problem, workload, 1, device=clock.device)
        reference = spec.load_reference(problem)
        least_ms, peak = clock.least_ms(lambda: reference(*inputs.values()))
    except Exception as error:  # noqa: BLE001 - a measurement run reports every failure and goes on
        print(f"{problem.name:56} {type(error).__name__}: {str(error)[:120]}")
        return row | {"error": f"{type(error).__name__}: {error}"[:400]}
    finally:
        inputs = {}
        torch.cuda.empty_cache()
    row |= {"reference_ms": least_ms, "peak_bytes": peak}
    if bound.t_sol_ms is None or bound.t_attainable_ms is None:
        return row | {"error": f"no bound: {bound.error or bound.unknown_ops}"}
    row |= {
        "ratio": least_ms / bound.t_sol_ms,
        "attainable_ratio": least_ms / bound.t_attainable_ms,
    }
    print(
        f"{problem.name:56}{peak / 2**30:7.2f}{least_ms:10.3f}{bound.t_sol_ms:10.4f}"
        f"{row['ratio']:9.2f}{row['attainable_ratio']:9.2f}"
    )
    return row


def summary(rows: list[dict[str, Any]], hardware: str) -> dict[str, Any]:
    good = [row for row in rows if "error" not in row]
    return {
        "hardware": hardware,
        "problems": len({row["problem"] for row in good}),
        "workloads": len(good),
        "failed": len(rows) - len(good),
        "below_t_sol": sum(row["ratio"] < 1 for row in good),
        "median_ratio": statistics.median(row["ratio"] for row in good),
        "slower_than_1000_attainable": sum(row["attainable_ratio"] > SLOW for row in good),
        "largest_input_gib": max(row["input_bytes"] for row in good) / 2**30,
        "inputs_above_limit": sum(row["input_bytes"] > DECLARED_LIMIT for row in good),
        "largest_peak_gib": max(row["peak_bytes"] for row in good) / 2**30,
        "rows": rows,
    }  # fmt: skip


if __name__ == "__main__":
    main()
