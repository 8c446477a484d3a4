"""A hundred evaluations by the real judge through the service, with eight clients: none lost, none mixed up.

Solutions multiply by different numbers, and only its own multiple is right for the problem that each is sent
with, so that a verdict on another's solution would show.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from _record import record

from solbench.judge import Judge
from solbench.service import Client, Job, Settings
from solbench.service._server import running
from solbench.spec import Definition, Problem, Solution, Workload, make_problem

CLIENTS, EVALUATIONS = 8, 100


def problem(factor: int) -> Problem:
    definition: dict[str, Any] = {
        "name": f"times_{factor}",
        "axes": {"n": {"type": "var"}},
        "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
        "reference": f"def run(x):\n    return x * {factor}.0\n",
    }
    workload = {"uuid": "w", "axes": {"n": 4096}, "inputs": {"x": {"type": "random"}}}
    return make_problem(Definition.model_validate(definition), [Workload.model_validate(workload)])


def solution(factor: int, number: int) -> Solution:
    """Every fifth is wrong."""
    used = factor + 1 if number % 5 == 4 else factor
    return Solution.model_validate(
        {
            "name": f"s{number}",
            "definition": f"times_{factor}",
            "author": "benchmark",
            "spec": {
                "languages": ["pytorch"],
                "target_hardware": ["LOCAL"],
                "entry_point": "main.py::run",
            },
            "sources": [
                {
                    "path": "main.py",
                    "content": f"import torch\ndef run(x, y):\n    torch.mul(x, {used}.0, out=y)\n",
                }
            ],
        }
    )


def one_client(url: str, client_number: int) -> list[tuple[int, Job]]:
    client, factor = Client(url, name=f"client-{client_number}"), client_number + 2
    numbers = range(client_number, EVALUATIONS, CLIENTS)
    sent = [(each, client.submit(problem(factor), solution(factor, each))) for each in numbers]
    return [(number, client.wait(job.id)) for number, job in sent]


def main() -> None:
    began = time.perf_counter()
    with (
        running(Settings(port=0), Judge) as url,
        ThreadPoolExecutor(CLIENTS) as pool,
    ):
        answers = [
            pair
            for pairs in pool.map(lambda n: one_client(url, n), range(CLIENTS))
            for pair in pairs
        ]
    seconds = time.perf_counter() - began
    wrong = sum(
        job.solution != f"s{number}" or job.passed is not (number % 5 != 4)
        for number, job in answers
    )
    record(
        "judge-service",
        {
            "evaluations": len(answers),
            "lost": EVALUATIONS - sum(job.state == "done" for _, job in answers),
            "mixed_up": wrong,
            "clients": CLIENTS,
            "seconds": seconds,
            "seconds_per_evaluation": seconds / EVALUATIONS,
        },
    )


if __name__ == "__main__":
    main()
