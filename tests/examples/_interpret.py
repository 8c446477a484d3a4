"""Run a Triton solution on its smallest workload through Triton's interpreter; prints the gate's status."""

from __future__ import annotations

import importlib.util
import json
import sys

import _direct as direct

from solbench.gate import official_gate_all


def main(name: str, variant: str) -> None:
    task, packed = direct.problem(name), direct.solution(name, variant)
    workload = task.workloads[0]
    inputs = direct.make_inputs(task, workload, 1)
    folder = direct.EXAMPLES / name / "solutions" / variant
    spec = importlib.util.spec_from_file_location("solution", folder / packed.spec.entry_file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    got = direct.empty_outputs(task, workload)
    getattr(module, packed.spec.entry_function)(*inputs.values(), *got.values())
    want = direct.expected(task, workload, inputs)
    print(json.dumps({"status": official_gate_all(got, want, workload.tolerance).status}))


if __name__ == "__main__":
    main(*sys.argv[1:])
