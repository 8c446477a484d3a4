"""SolBench: how fast could a GPU kernel be, how fast is it, and can that number be trusted.

    import solbench

    problem = solbench.load_problem("examples/rmsnorm")
    solution = solbench.load_solution("examples/rmsnorm/solution_fast.json")
    result = solbench.evaluate(problem, solution, device="cpu")
    bounds = solbench.derive_bound(problem, hardware="h200")

Every name is imported on first use: ``import solbench`` costs milliseconds and does not import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solbench._lazy import imported_on_use

if TYPE_CHECKING:
    from solbench.bound import Bound as Bound
    from solbench.bound import derive_bound as derive_bound
    from solbench.errors import SolBenchError as SolBenchError
    from solbench.hardware import known_hardware as known_hardware
    from solbench.hardware import load_hardware as load_hardware
    from solbench.judge import EvaluationResult as EvaluationResult
    from solbench.judge import Judge as Judge
    from solbench.judge import evaluate as evaluate
    from solbench.score import sol_score as sol_score
    from solbench.spec import Problem as Problem
    from solbench.spec import Solution as Solution
    from solbench.spec import Trace as Trace
    from solbench.spec import check as check
    from solbench.spec import load_problem as load_problem
    from solbench.spec import load_solution as load_solution
    from solbench.spec import read_traces as read_traces

__version__ = "0.1.0"

_HOMES = {
    "Bound": "bound",
    "derive_bound": "bound",
    "SolBenchError": "errors",
    "known_hardware": "hardware",
    "load_hardware": "hardware",
    "EvaluationResult": "judge",
    "Judge": "judge",
    "evaluate": "judge",
    "sol_score": "score",
    "Problem": "spec",
    "Solution": "spec",
    "Trace": "spec",
    "check": "spec",
    "load_problem": "spec",
    "load_solution": "spec",
    "read_traces": "spec",
}

__all__ = [  # noqa: RUF022 - grouped by what a user does
    "load_problem", "load_solution", "read_traces", "check",
    "derive_bound", "evaluate", "sol_score", "load_hardware", "known_hardware",
    "Judge", "EvaluationResult", "Bound", "Problem", "Solution", "Trace", "SolBenchError",
    "__version__",
]  # fmt: skip

__getattr__ = imported_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
