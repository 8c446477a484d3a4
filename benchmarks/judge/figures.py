"""The judge's figures on a GPU: agreement with itself, with a profiler, time and memory of an evaluation.

Beside them stands what a plain benchmark loop shows on the same kernels. Nothing but Python, torch, NVML and
this checkout is needed; without ``ncu`` on the path the profiler's columns stay empty.

    PYTHONPATH=src python3 benchmarks/judge/figures.py [--seconds 200]
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src"), str(Path(__file__).parent)]
from _kernels import EMPTY, KERNELS, Kernel, problem_of, solution_of  # noqa: E402
from _plain import plain_us, profiled_us  # noqa: E402
from _record import record  # noqa: E402

_REPEATS = 3
"""Evaluations of each kernel in ``rank``, each in workers of its own: three pairs."""
_WORKLOADS = 16
_LARGEST_BYTES = 1 << 30
_SHORT_US = 20.0
_COMPARISONS = 1
"""Of a short kernel with itself, interleaved."""
_DRAM_BYTES_PER_US = 4.8e6
"""By the datasheet of the H200: what is written back takes this long at least."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=200.0, help="start nothing after this")
    parser.add_argument("--only", nargs="*", default=("kernels", "reward"))
    parser.add_argument("--examples", nargs="*", help="names under examples/; default: all")
    parser.add_argument("--no-ncu", action="store_true", help="leave the profiler's column empty")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    import torch

    if not torch.cuda.is_available():
        print("no GPU here: nothing measured")
        return
    began = perf_counter()
    from solbench.judge._session import LocalJudge

    numbers: dict[str, Any] = {}
    start = perf_counter()
    with LocalJudge("cuda:0", budgets=_budgets()) as judge:
        floor = judge.floor
        numbers["start_s"] = perf_counter() - start
        numbers["empty_call_us"] = 1e3 * floor.call_ms
        numbers["cost_of_a_run_us"] = 1e3 * floor.run_ms
        if "kernels" in options.only:
            numbers |= kernel_figures(judge, began + options.seconds, not options.no_ncu)
        if "reward" in options.only:
            numbers |= reward_figures(judge, began + options.seconds, options.examples)
    record("judge-figures", numbers)


def _budgets() -> dict[str, Any]:
    """Those of the device, and one for comparisons."""
    from solbench.judge._statistics import GPU_BUDGETS, Budget, StopRule

    rule = StopRule(minimum=30, least=20, maximum=60, seconds=0.4)
    return {**GPU_BUDGETS, "compared": Budget(rule, GPU_BUDGETS["reward"].reference_rule)}


def kernel_figures(judge: Any, deadline: float, with_ncu: bool) -> dict[str, Any]:
    import torch

    profiled = _profiled(queued=False) if with_ncu else {}
    in_a_queue = _profiled(queued=True) if with_ncu else {}
    judge.device.names_kernels = False  # takes no part in a time, and seconds
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    rows = []
    for kernel in KERNELS:
        if perf_counter() > deadline:
            print(f"{kernel.name}: out of time")
            continue
        ours = list(_repeats(judge, kernel))
        plain = [plain_us(kernel, "cuda:0", l2_bytes) for _ in range(_REPEATS)]
        torch.cuda.empty_cache()
        rows.append(
            {
                "kernel": kernel.name,
                "us": ours,
                "plain_us": plain,
                "ncu_us": profiled.get(kernel.name),
                "ncu_queued_us": in_a_queue.get(kernel.name),
                "write_back_us": min(kernel.written_bytes, l2_bytes) / _DRAM_BYTES_PER_US,
                "compared_us": list(_comparisons(judge, kernel, statistics.median(ours))),
            }
        )
    _subtract_offsets(rows)
    for row in rows:
        print(_line(row))
    return {
        "kernels": rows,
        **_agreement(rows, "us", "a_a"),
        **_agreement(rows, "plain_us", "plain_a_a"),
        "compared_p95_short_ns": _p95([1e3 * abs(d) for row in rows for d in row["compared_us"]]),
        **_against_profiler(rows, "us", "ncu"),
        **_against_profiler(rows, "us", "ncu_queued"),
        **_against_profiler(rows, "plain_us", "ncu", "plain_ncu"),
    }


def _profiled(*, queued: bool) -> dict[str, float]:
    try:
        return profiled_us(KERNELS, queued=queued)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"no profiler: {error}")
        return {}


def _repeats(judge: Any, kernel: Kernel) -> Iterator[float]:
    problem, solution = problem_of(kernel), solution_of(kernel)
    for _ in range(_REPEATS):
        (trace,) = judge.evaluate(problem, solution, mode="rank").traces
        timing = trace.solbench.timing
        if timing is None:
            raise RuntimeError(
                f"{kernel.name}: {trace.evaluation.status}: {trace.evaluation.log[-300:]}"
            )
        if flags := [f"{flag.id}: {flag.evidence}" for flag in trace.solbench.flags]:
            print(f"  {kernel.name}: {flags}")
        yield 1e3 * timing.median_ms


def _comparisons(judge: Any, kernel: Kernel, latency_us: float) -> Iterator[float]:
    """Differences in us of a short kernel from itself, by interleaved comparisons."""
    from solbench.judge._orders import ComparisonOrder

    if latency_us >= _SHORT_US:
        return
    problem, solution = problem_of(kernel), solution_of(kernel)
    uuids = tuple(each.uuid for each in problem.workloads)
    for _ in range(_COMPARISONS):
        found: list[Any] = []
        order = ComparisonOrder(problem, solution, solution, uuids, {"mode": "compared"})
        judge.carry_out(order, found.append)
        if found[0].ratio is not None:
            yield latency_us * (found[0].ratio.median - 1)


def _subtract_offsets(rows: list[dict[str, Any]]) -> None:
    """Each tool's reading of the next to empty kernel is its own."""
    empty = next(row for row in rows if row["kernel"] == EMPTY.name)
    for row in rows:
        for key in ("us", "plain_us"):
            row[f"net_{key}"] = statistics.median(row[key]) - statistics.median(empty[key])
        for key in ("ncu_us", "ncu_queued_us"):
            if row[key] is not None and empty[key] is not None:
                row[f"net_{key}"] = row[key] - empty[key]


def _line(row: dict[str, Any]) -> str:
    ncu, queued = (
        f"{row[key]:10.3f}" if key in row else f"{'-':>10}"
        for key in ("net_ncu_us", "net_ncu_queued_us")
    )
    return (
        f"{row['kernel']:22} judge {statistics.median(row['us']):10.3f} (spread {_spread(row['us']):6.3f})"
        f"  plain {statistics.median(row['plain_us']):10.3f} (spread {_spread(row['plain_us']):6.3f})"
        f"  net: judge {row['net_us']:10.3f} plain {row['net_plain_us']:10.3f} ncu {ncu}"
        f" in a queue {queued}"
        f"  with itself {[round(1e3 * each) for each in row['compared_us']]} ns"
    )


def _spread(values: list[float]) -> float:
    return max(values) - min(values)


def _agreement(rows: list[dict[str, Any]], key: str, name: str) -> dict[str, float | None]:
    """95th percentile of the difference of two evaluations: in ns below 20 us, relative above."""
    short, long = [], []
    for row in rows:
        for one, other in itertools.combinations(row[key], 2):
            if max(one, other) < _SHORT_US:
                short.append(1e3 * abs(one - other))
            else:
                long.append(abs(one - other) / min(one, other))
    return {
        f"{name}_p95_short_ns": _p95(short),
        f"{name}_p95_long_share": _p95(long),
    }


def _p95(values: list[float]) -> float | None:
    """``None`` where time was too short for two of them: what was measured is still recorded."""
    if len(values) < 2:
        return None
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def _against_profiler(
    rows: list[dict[str, Any]], key: str, profiler: str, name: str = ""
) -> dict[str, float]:
    """Of the kernels of 2 us and more: how many agree within 3 % or 0.3 us, all of them and those that write
    too little to matter; and how many agree if ncu's duration may grow by the time of writing back what the
    kernel left in the cache, which ncu's clock does not see where it flushes first."""
    net = f"net_{profiler}_us"
    others = [row for row in rows if net in row and row["kernel"] != EMPTY.name]
    agree, readers, explained = [], [], []
    for row in others:
        off, allowed = row[f"net_{key}"] - row[net], max(0.3, 0.03 * row[net])
        agree.append(abs(off) <= allowed)
        explained.append(-allowed <= off <= allowed + row["write_back_us"])
        if row["write_back_us"] <= allowed:
            readers.append(abs(off) <= allowed)
    name = name or profiler
    return {
        f"{name}_kernels": len(others),
        f"{name}_agree": sum(agree),
        f"{name}_of_little_writing": len(readers),
        f"{name}_of_little_writing_agree": sum(readers),
        f"{name}_agree_with_write_backs": sum(explained),
    }


def reward_figures(judge: Any, deadline: float, examples: list[str] | None) -> dict[str, Any]:
    """Sixteen workloads of each example, twice; the second time counts."""
    import solbench

    rows = []
    found = sorted(path.parent for path in (ROOT / "examples").glob("*/definition.json"))
    for folder in [ROOT / "examples" / name for name in examples] if examples else found:
        problem = _sixteen(solbench.load_problem(folder, workload_file="workload_gpu.jsonl"))
        solution = solbench.load_solution(folder / "solution_fast.json")
        if perf_counter() > deadline:
            print(f"{folder.name}: out of time")
            continue
        first, _ = _evaluated(judge, problem, solution)
        warm, row = _evaluated(judge, problem, solution)
        rows.append({"example": folder.name, "first_s": first, "warm_s": warm, **row})
        print({key: round(v, 3) if isinstance(v, float) else v for key, v in rows[-1].items()})
    median_s = statistics.median(row["warm_s"] for row in rows) if rows else None
    return {"reward": rows, "reward_median_s": median_s}


def _sixteen(problem: Any) -> Any:
    """Its workloads of at most 1 GiB, over and over under new names."""
    from solbench.spec import make_problem

    small = [each for each in problem.workloads if _declared_bytes(problem, each) <= _LARGEST_BYTES]
    chosen = [
        each.model_copy(update={"uuid": f"{each.uuid}-{number}"})
        for number, each in zip(range(_WORKLOADS), itertools.cycle(small), strict=False)
    ]
    return make_problem(problem.definition, chosen)


def _declared_bytes(problem: Any, workload: Any) -> int:
    """Inputs and outputs of one call."""
    from solbench.spec import load_reference, make_inputs, normalise_outputs

    inputs = make_inputs(problem, workload, 0, "cuda:0")
    returned = load_reference(problem)(*inputs.values())
    tensors = [*inputs.values(), *normalise_outputs(problem, returned, workload).values()]
    return sum(each.nbytes for each in tensors if hasattr(each, "nbytes"))


def _evaluated(judge: Any, problem: Any, solution: Any) -> tuple[float, dict[str, Any]]:
    import torch

    declared = max(_declared_bytes(problem, each) for each in problem.workloads[:5])
    programs = _programs_bytes(problem)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    with _memory_peak() as peak:
        start = perf_counter()
        result = judge.evaluate(problem, solution)
        seconds = perf_counter() - start
    flags = sorted({flag.id for trace in result.traces for flag in trace.solbench.flags})
    timings = [trace.solbench.timing for trace in result.traces if trace.solbench.timing]
    return seconds, {
        "passed": sum(trace.evaluation.status == "PASSED" for trace in result.traces),
        "declared_gib": declared / 2**30,
        "judge_gib": peak[0] / 2**30,
        "tensors_gib": (torch.cuda.max_memory_allocated() - held) / 2**30,
        "programs_gib": programs / 2**30,
        "own_gib": (peak[0] - programs) / 2**30,
        "limit_gib": 2.5 * declared / 2**30 + 1,
        "interval_median_share": statistics.median(
            (each.ci_high_ms - each.ci_low_ms) / 2 / each.median_ms for each in timings
        ),
        "samples_median": statistics.median(len(each.samples) for each in timings),
        "flags": flags,
    }


def _programs_bytes(problem: Any) -> int:
    """What the problem's own program needs at most for one call, inputs and outputs apart, as it is and in
    float64: no judge can do without it."""
    import torch

    from solbench.judge._oracle import Oracle

    most = 0
    for workload in {repr(each.axes): each for each in problem.workloads}.values():
        oracle = Oracle(problem, workload, "cuda:0")
        inputs = oracle.inputs(0)
        for run in (oracle.truth, oracle.expected):
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            run(inputs)
            most = max(most, torch.cuda.max_memory_allocated() - before)
    return most


@contextmanager
def _memory_peak() -> Iterator[list[int]]:
    """Device memory of this process above what it holds now, by the driver's account."""
    import pynvml

    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)

    def own() -> int:
        processes = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
        return sum(each.usedGpuMemory or 0 for each in processes if each.pid == os.getpid())

    before, peak, over = own(), [0], threading.Event()

    def look() -> None:
        while not over.is_set():
            peak[0] = max(peak[0], own() - before)
            sleep(0.02)

    looker = threading.Thread(target=look, daemon=True)
    looker.start()
    try:
        yield peak
    finally:
        over.set()
        looker.join()


if __name__ == "__main__":
    main()
