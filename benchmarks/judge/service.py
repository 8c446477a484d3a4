"""A hundred evaluations by the real judge through the service, with eight clients: none lost, none mixed up.

Solutions multiply by different numbers, and only its own multiple is right for the problem that each is sent
with, so that a verdict on another's solution would show. On a GPU they are in CUDA C++ and have to be built.

python3 benchmarks/judge/service.py
python3 benchmarks/judge/service.py --device cuda:0 --clients 4 --evaluations 20
"""

from __future__ import annotations

import argparse
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

PYTORCH = "import torch\ndef run(x, y):\n    torch.mul(x, {factor}.0, out=y)\n"
CUDA = """#include <cuda_runtime.h>
#include "solbench.h"
__global__ void scale(const float* from, float* to, int64_t size) {{
    const int64_t place = blockIdx.x * 256ll + threadIdx.x;
    if (place < size) to[place] = {factor}.0f * from[place];
}}
extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double*, void* stream) {{
    const int64_t size = inputs[0]->shape[0];
    scale<<<(size + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const float*>(inputs[0]->data), static_cast<float*>(outputs[0]->data), size);
    return cudaGetLastError();
}}
"""


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


def solution(factor: int, number: int, device: str) -> Solution:
    """Every fifth is wrong."""
    used = factor + 1 if number % 5 == 4 else factor
    cuda = device.startswith("cuda")
    file, text = ("main.cu", CUDA) if cuda else ("main.py", PYTORCH)
    spec = {
        "languages": ["cuda_cpp" if cuda else "pytorch"],
        "target_hardware": ["LOCAL"],
        "entry_point": f"{file}::run",
    }
    return Solution.model_validate(
        {
            "name": f"s{number}",
            "definition": f"times_{factor}",
            "author": "benchmark",
            "spec": {**spec, "binding": "c"} if cuda else spec,
            "sources": [{"path": file, "content": text.format(factor=used)}],
        }
    )


def one_client(url: str, client_number: int, options: argparse.Namespace) -> list[tuple[int, Job]]:
    client, factor = Client(url, name=f"client-{client_number}"), client_number + 2
    own = problem(factor)
    sent = [
        (number, client.submit(own, solution(factor, number, options.device)))
        for number in range(client_number, options.evaluations, options.clients)
    ]
    return [(number, client.wait(job.id)) for number, job in sent]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--evaluations", type=int, default=100)
    options = parser.parse_args()
    began = time.perf_counter()
    with (
        running(Settings(port=0, devices=(options.device,)), Judge) as url,
        ThreadPoolExecutor(options.clients) as pool,
    ):
        each = pool.map(lambda number: one_client(url, number, options), range(options.clients))
        answers = [pair for pairs in each for pair in pairs]
    seconds = time.perf_counter() - began
    wrong = [
        job
        for number, job in answers
        if job.solution != f"s{number}" or job.passed is not (number % 5 != 4)
    ]
    for job in wrong:
        print(job.solution, job.state, [trace.evaluation.log[:200] for trace in job.traces])
    record(
        "judge-service",
        {
            "device": options.device,
            "evaluations": len(answers),
            "lost": options.evaluations - sum(job.state == "done" for _, job in answers),
            "mixed_up": len(wrong),
            "clients": options.clients,
            "seconds": seconds,
            "seconds_per_evaluation": seconds / options.evaluations,
        },
    )


if __name__ == "__main__":
    main()
