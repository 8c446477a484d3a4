"""Running Nsight Compute on one call of a solution. Outside the jail: see ``nsight_target``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch

from solbench.errors import DeviceError
from solbench.jail import WorkerPlan, build, child_environment, child_import_path
from solbench.jail.protocol import Layout
from solbench.judge._layouts import ArgumentValue, bytes_of, plan_layout, tensor_arguments
from solbench.judge.nsight._page import NsightKernel, read_nsight
from solbench.spec import (
    Problem,
    Solution,
    Workload,
    contained,
    load_reference,
    make_inputs,
    normalise_outputs,
)

_SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats")
_METRICS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum")
_TIMEOUT_S = 180.0
_SEED = 1
_NO_PERMISSION = "ERR_NVGPUCTRPERM"
_BOOTSTRAP = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from solbench.jail.nsight_target import main; main(*sys.argv[2:])"
)


def run_nsight(
    ncu: str, problem: Problem, solution: Solution, workload: Workload, device: str
) -> tuple[NsightKernel, ...]:
    """See ``profile_nsight``. ``device`` with its number."""
    artifact = build(solution, device)
    with contained():
        inputs = make_inputs(problem, workload, _SEED, device)
    layout = _layout(problem, workload, inputs)
    with tempfile.TemporaryDirectory(prefix="solbench-ncu-") as folder:
        plan = WorkerPlan(artifact, (layout,), device)
        target = _target(Path(folder), plan, inputs)
        return _watched([ncu, *_options(), *target], folder)


def _options() -> list[str]:
    sections = [word for section in _SECTIONS for word in ("--section", section)]
    shown = ["--csv", "--page", "raw", "--print-units", "base"]
    return [
        "--clock-control", "none", "--profile-from-start", "off", *shown, *sections,
        "--metrics", ",".join(_METRICS),
    ]  # fmt: skip


def _layout(problem: Problem, workload: Workload, inputs: Mapping[str, ArgumentValue]) -> Layout:
    """Of one call. The reference is run for the shapes of its outputs, which count, whatever is declared."""
    with contained(), torch.no_grad():
        returned = load_reference(problem)(*_copies(inputs))
    outputs = normalise_outputs(problem, returned, workload)
    return plan_layout(inputs, outputs, buffer_multiple=64, max_slots=2, slot_budget_bytes=0)


def _copies(inputs: Mapping[str, ArgumentValue]) -> list[ArgumentValue]:
    """A reference may write into its inputs."""
    return [each.clone() if isinstance(each, torch.Tensor) else each for each in inputs.values()]


def _target(folder: Path, plan: WorkerPlan, inputs: Mapping[str, ArgumentValue]) -> list[str]:
    """The command that calls the solution, its files written."""
    from solbench.jail._wire import encode_plan

    (layout,) = plan.layouts
    buffer = torch.zeros(layout.input_bytes, dtype=torch.uint8)
    for field in tensor_arguments(layout):
        buffer[field.offset : field.offset + field.nbytes] = bytes_of(inputs[field.name]).cpu()
    plan_file, inputs_file = folder / "plan.json", folder / "inputs.bin"
    plan_file.write_bytes(encode_plan(plan))
    inputs_file.write_bytes(buffer.numpy().tobytes())
    bootstrap = [sys.executable, "-I", "-B", "-c", _BOOTSTRAP, json.dumps(child_import_path())]
    return [*bootstrap, str(plan_file), str(inputs_file)]


def _watched(command: list[str], folder: str) -> tuple[NsightKernel, ...]:
    environment = {**child_environment(), "TMPDIR": folder, "HOME": folder}
    environment["PATH"] = os.pathsep.join([str(Path(command[0]).parent), environment["PATH"]])
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", cwd=folder,
            env=environment, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise DeviceError(f"ncu did not finish in {_TIMEOUT_S:g} s") from None
    kernels = read_nsight(done.stdout)
    if kernels:
        return kernels
    raise DeviceError(_why_nothing(done.stdout + done.stderr))


def _why_nothing(said: str) -> str:
    if _NO_PERMISSION in said:
        return (
            "ncu may not read this GPU's counters (ERR_NVGPUCTRPERM): ask the machine's administrator to allow "
            "profiling for all users, or go without --ncu"
        )
    lines = [line for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "==ERROR==" in line or "Error" in line] or lines[-3:]
    return f"ncu showed no kernel: {' '.join(telling)[-600:] or 'it said nothing'}"
