"""Seconds of one evaluation of each example on the CPU with a judge that is warm.

Target: at most 10 s for five workloads. Beside it stands the first evaluation of each, which also builds,
derives the bound and times the reference.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))
from _record import record

import solbench

EXAMPLES = Path(__file__).parents[2] / "examples"


def main() -> None:
    numbers: dict[str, object] = {}
    with solbench.Judge("cpu") as judge:
        for folder in sorted(path.parent for path in EXAMPLES.glob("*/definition.json")):
            problem = solbench.load_problem(folder)
            solution = solbench.load_solution(folder / "solution_fast.json")
            for label in ("first", "warm"):
                start = perf_counter()
                result = judge.evaluate(problem, solution)
                numbers[f"{folder.name}_{label}_s"] = perf_counter() - start
            numbers[f"{folder.name}_passed"] = result.passed
            numbers[f"{folder.name}_score"] = result.score
    warm = [value for key, value in numbers.items() if key.endswith("_warm_s")]
    numbers["slowest_warm_s"] = max(float(str(value)) for value in warm)
    record("judge-warm-evaluation", numbers)


if __name__ == "__main__":
    main()
