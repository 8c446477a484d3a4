"""Time and memory of the bound of a recurrent net whose loop unrolls to 50,000 operations.

Target: at most 60 s and 2 GB, in a fresh process, import of torch included.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))
from _record import record

OPERATIONS_A_STEP = 5
"""select, two addmm-like products, their sum, tanh."""

MODULE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features, steps):
        super().__init__()
        self.steps = steps
        self.input_weight = nn.Parameter(torch.randn(features, features) / features**0.5)
        self.state_weight = nn.Parameter(torch.randn(features, features) / features**0.5)

    def forward(self, sequence):
        state = torch.zeros_like(sequence[0])
        for step in range(self.steps):
            drive = torch.mm(sequence[step], self.input_weight)
            state = torch.tanh(drive + torch.mm(state, self.state_weight))
        return state


def get_inputs():
    return [torch.randn({steps}, 4, 64)]


def get_init_inputs():
    return [64, {steps}]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=50_000)
    parser.add_argument("--hardware", default="h200")
    options = parser.parse_args()
    steps = options.operations // OPERATIONS_A_STEP
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "recurrence.py"
        module.write_text(MODULE.replace("{steps}", str(steps)))
        command = [sys.executable, "-m", "solbench", "bound", str(module)]
        start = perf_counter()
        done = subprocess.run(
            [*command, "--hardware", options.hardware, "--json"], capture_output=True, text=True
        )
        seconds = perf_counter() - start
    if not done.stdout.strip():
        sys.exit(f"no bound came out: {done.stderr[-2000:]}")
    line = json.loads(done.stdout.splitlines()[-1])
    # every step needs both products: 2 * 4 * 64 * 64 FLOPs each, the first step's state is zero
    flops = steps * 2 * (2 * 4 * 64 * 64)
    record(
        "bound-unrolled-recurrence",
        {
            "operations": steps * OPERATIONS_A_STEP,
            "seconds": seconds,
            "seconds_derivation": line["seconds"],
            "peak_memory_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
            "complete": line["complete"],
            "error": line.get("error"),
            "matrix_flops": sum(line["matrix_flops"].values()),
            "matrix_flops_if_every_step_counts": flops,
            "t_sol_ms": line["t_sol_ms"],
        },
    )


if __name__ == "__main__":
    main()
