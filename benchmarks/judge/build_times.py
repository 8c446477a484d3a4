"""What a build costs: cold, and again out of the cache, for every language whose compiler is here.

.venv/bin/python benchmarks/judge/build_times.py
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
from _record import record  # noqa: E402

from solbench.errors import BuildError  # noqa: E402
from solbench.jail import build  # noqa: E402
from solbench.spec import load_solution  # noqa: E402

SOLUTIONS = {
    "swiglu/fast": "cpu", "swiglu/cpp": "cpu", "swiglu/cpp_tvm_ffi": "cpu", "swiglu/cpp_torch": "cpu",
    "swiglu/numba": "cpu", "swiglu/triton": "cuda:0", "swiglu/cuda": "cuda:0",
    "swiglu/cuda_tvm_ffi": "cuda:0", "swiglu/cuda_torch": "cuda:0", "linear_fp16/cublas": "cuda:0",
    "linear_fp16/cudnn": "cuda:0", "linear_fp16/cutlass": "cuda:0",
}  # fmt: skip
REPEATS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", help="such as swiglu/cpp; default: all")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    chosen = options.only or list(SOLUTIONS)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SOLBENCH_CACHE_DIR"] = folder
        rows = [one(name) for name in chosen]
    built = [row["again_ms"] for row in rows if row["again_ms"] is not None]
    record("judge-build-times", {"slowest_again_ms": max(built, default=None), "rows": rows})


def one(name: str) -> dict[str, Any]:
    """The first build, and the median and the slowest of ``REPEATS`` that the cache answers."""
    problem, _, variant = name.partition("/")
    solution = load_solution(ROOT / "examples" / problem / f"solution_{variant}.json")
    start = perf_counter()
    try:
        first = build(solution, SOLUTIONS[name])
    except BuildError as error:
        why = error.first_error.replace(f"{sys.prefix}/", "")
        print(f"{name:24}{why}")
        return {"solution": name, "cold_s": None, "again_ms": None, "why": why}
    cold_s = perf_counter() - start
    times_ms = []
    for _ in range(REPEATS):
        start = perf_counter()
        assert build(solution, SOLUTIONS[name]) == first
        times_ms.append(1e3 * (perf_counter() - start))
    times_ms.sort()
    median, slowest = times_ms[REPEATS // 2], times_ms[-1]
    print(f"{name:24}{cold_s:8.2f} s cold{median:9.2f} ms again{slowest:9.2f} ms at most")
    return {"solution": name, "cold_s": cold_s, "again_ms": median, "again_most_ms": slowest}


if __name__ == "__main__":
    main()
