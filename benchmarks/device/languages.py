"""Every language with a right, wrong, slow, crashing and unfinished solution: does each get its verdict?

PYTHONPATH=src python3 benchmarks/device/languages.py                    # on a GPU
PYTHONPATH=src python3 benchmarks/device/languages.py --device cpu
PYTHONPATH=src python3 benchmarks/device/languages.py --only cuda_cpp-torch:slow,crash cutlass --jobs 8
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "benchmarks/device"), str(ROOT / "src")]
from _language_matrix import LANGUAGES, expected, matrix, solution  # noqa: E402
from _record import record  # noqa: E402

import solbench  # noqa: E402
from solbench.errors import BuildError  # noqa: E402
from solbench.jail import build  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument(
        "--only", nargs="*", help="language, or language:variant,variant; default: all"
    )
    parser.add_argument(
        "--jobs", type=int, default=0, help="build so many at once before any evaluation"
    )
    parser.add_argument("--seconds", type=float, default=220.0, help="start nothing after this")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print(f"{'language':20}{'variant':9}{'status':22}{'ms':>9}{'s':>7}  message")
    rows = list(evaluated(options))
    wrong = [row for row in rows if not row["as_expected"]]
    record(
        "languages",
        {
            "device": options.device,
            "evaluations": len(rows),
            "unexpected": len(wrong),
            "rows": rows,
        },
    )


def evaluated(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    began = perf_counter()
    chosen = [pair for pair in matrix(options.device.split(":")[0]) if is_chosen(options, *pair)]
    if options.jobs:
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda pair: build_one(*pair, options.device), chosen))
    with solbench.Judge(options.device) as judge:
        for name, variant in chosen:
            if perf_counter() - began > options.seconds:
                print(f"{name}, {variant}: out of time")
                return
            yield one(judge, name, variant, options.device)


def is_chosen(options: argparse.Namespace, name: str, variant: str) -> bool:
    """``cuda_cpp, torch`` is written ``cuda_cpp-torch``."""
    for wanted in options.only or (name,):
        language, _, variants = wanted.partition(":")
        if language in (name, name.replace(", ", "-")):
            return not variants or variant in variants.split(",")
    return False


def build_one(name: str, variant: str, device: str) -> None:
    """Into the cache. What does not build is told when it is evaluated."""
    start = perf_counter()
    try:
        build(solution(LANGUAGES[name], variant), device)
    except BuildError as error:
        print(f"{name}, {variant}: not built: {error.first_error[:80]}")
    print(f"{name}, {variant}: built or not in {perf_counter() - start:.1f} s")


def one(judge: Any, name: str, variant: str, device: str) -> dict[str, Any]:
    """The second workload: small, but no corner."""
    language = LANGUAGES[name]
    file = "workload.jsonl" if device == "cpu" else "workload_gpu.jsonl"
    problem = solbench.load_problem(
        ROOT / "examples" / language.example.partition("/")[0], workload_file=file
    )
    start = perf_counter()
    result = judge.evaluate(
        problem, solution(language, variant), workloads=[problem.workloads[1].uuid]
    )
    (trace,) = result.traces
    seconds, status = perf_counter() - start, trace.evaluation.status
    performance = trace.evaluation.performance
    latency_ms = performance.latency_ms if performance else None
    message = " ".join(trace.evaluation.log.split())[:200] if status != "PASSED" else ""
    good = status in expected(language, variant)
    shown = f"{latency_ms:.4f}" if latency_ms else "-"
    mark = "" if good else "UNEXPECTED "
    print(f"{name:20}{variant:9}{status:22}{shown:>9}{seconds:7.1f}  {mark}{message[:80]}")
    return {
        "language": name, "variant": variant, "status": status, "as_expected": good,
        "latency_ms": latency_ms, "seconds": seconds, "message": message,
    }  # fmt: skip


if __name__ == "__main__":
    main()
