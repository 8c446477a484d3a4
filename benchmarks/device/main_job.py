"""The main job on a GPU: what the machine has, what it measures, and every example on its larger workloads.

Needs nothing but Python, torch and this checkout: ``PYTHONPATH=src python3 benchmarks/device/main_job.py``.
Prints a table of at most 60 lines and writes a JSON into ``$RESULTS_DIR`` (default: benchmarks/results).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
from _record import record  # noqa: E402

VARIANTS = ("fast", "slow", "wrong", "triton", "cuda")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", help="names under examples/; default: all")
    parser.add_argument("--variants", nargs="*", default=VARIANTS)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--mode", default="reward", choices=("reward", "rank"))
    parser.add_argument("--seconds", type=float, default=420.0, help="start nothing after this")
    parser.add_argument("--no-calibrate", action="store_true")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if not has_device(options.device):
        print(f"no device {options.device} here: nothing measured")
        return
    print_doctor()
    numbers: dict[str, Any] = {}
    if not options.no_calibrate:
        numbers["calibration"] = calibration(options.device)
    began = perf_counter()
    numbers["solutions"] = list(evaluations(options, began))
    numbers["evaluation_s"] = perf_counter() - began
    record("device-main-job", numbers)


def has_device(device: str) -> bool:
    import torch

    return device == "cpu" or torch.cuda.is_available()


def print_doctor() -> None:
    """Its last twelve lines; a failure is shown, not raised."""
    command = [sys.executable, "-m", "solbench", "doctor"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "110"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    for line in (done.stdout or done.stderr).splitlines()[-14:]:
        print(line[:110])


def calibration(device: str) -> dict[str, Any]:
    """Measured rates beside the peaks of the device file."""
    from solbench.hardware import calibrate, detect_hardware, load_hardware

    measured = calibrate(device)
    name = detect_hardware(device)
    peaks = load_hardware(name) if name else None
    for mix in ("copy", "read", "write", "update"):
        rate = getattr(measured, f"{mix}_bytes_per_s")
        share = f"{rate / peaks.dram_bytes_per_s:6.1%} of peak" if peaks else ""
        print(f"  {mix:8}{rate / 1e12:9.3f} TB/s    {share}")
    for precision, rate in measured.matmul_flops_per_s.items():
        share = ""
        if peaks:
            share = f"{rate / peaks.flops_per_s(precision, peaks.clock_mhz()):6.1%} of peak"
        print(f"  {precision:8}{rate / 1e12:9.1f} TFLOP/s {share}")
    print(f"  L2 copy {measured.l2_bytes_per_s / 1e12:9.3f} TB/s")
    print(f"  launch floor {measured.launch_floor_us:.2f} us")
    return {**asdict(measured), "hardware": name}


def evaluations(options: argparse.Namespace, began: float) -> Iterator[dict[str, Any]]:
    import solbench

    print(f"{'solution':30}{'passed':>7}{'ms':>11}{'T_SOL':>10}{'x':>9}{'score':>7}{'s':>6}  flags")
    with solbench.Judge(options.device) as judge:
        for folder in folders(options.examples):
            file = "workload.jsonl" if options.device == "cpu" else "workload_gpu.jsonl"
            problem = solbench.load_problem(folder, workload_file=file)
            for variant in options.variants:
                path = folder / f"solution_{variant}.json"
                if not path.exists():
                    continue
                if perf_counter() - began > options.seconds:
                    print(f"{path.parent.name}/{variant}: out of time")
                    continue
                yield evaluated(judge, problem, path, options.mode)


def folders(names: list[str]) -> list[Path]:
    if names:
        return [ROOT / "examples" / name for name in names]
    return sorted(path.parent for path in (ROOT / "examples").glob("*/definition.json"))


def evaluated(judge: Any, problem: Any, path: Path, mode: str) -> dict[str, Any]:
    """One solution; whatever goes wrong becomes a row, so that the others still run."""
    import solbench

    name = f"{problem.name}/{path.stem.removeprefix('solution_')}"
    start = perf_counter()
    try:
        result = judge.evaluate(problem, solbench.load_solution(path), mode=mode)
    except Exception as error:  # noqa: BLE001 - a measurement run reports every failure and goes on
        print(f"{name:30} {type(error).__name__}: {str(error)[:100]}")
        return {"solution": name, "error": traceback.format_exc()}
    row = summary(name, result.traces, perf_counter() - start)
    row["score"] = result.score
    print_row(row)
    return row


def summary(name: str, traces: Any, seconds: float) -> dict[str, Any]:
    workloads = [workload_row(trace) for trace in traces]
    return {
        "solution": name,
        "passed": sum(row["status"] == "PASSED" for row in workloads),
        "seconds": seconds,
        "workloads": workloads,
    }


def workload_row(trace: Any) -> dict[str, Any]:
    ours = trace.solbench
    timing = ours.timing.model_dump(exclude={"samples"}) if ours.timing else None
    reference = ours.reference_timing.median_ms if ours.reference_timing else None
    return {
        "axes": dict(trace.workload.axes),
        "status": trace.evaluation.status,
        "t_sol_ms": ours.t_sol_ms,
        "t_attainable_ms": ours.t_attainable_ms,
        "binding": ours.binding,
        "score": ours.score,
        "score_note": ours.score_note,
        "timing": timing,
        "reference_ms": reference,
        "flags": [flag.model_dump() for flag in ours.flags],
        "log": trace.evaluation.log[-400:] if trace.evaluation.status != "PASSED" else "",
    }


def print_row(row: dict[str, Any]) -> None:
    """The last workload, the largest, stands for the solution."""
    last = row["workloads"][-1]
    time_ms = last["timing"]["median_ms"] if last["timing"] else None
    bound_ms = last["t_sol_ms"]
    ratio = time_ms / bound_ms if time_ms and bound_ms else None
    flags = sorted({flag["id"] for each in row["workloads"] for flag in each["flags"]})
    if row["passed"] < len(row["workloads"]):
        flags = sorted({each["status"] for each in row["workloads"]} - {"PASSED"}) + flags
    print(
        f"{row['solution']:30}{row['passed']:>4}/{len(row['workloads'])}{shown(time_ms, 4):>11}"
        f"{shown(bound_ms, 4):>10}{shown(ratio, 2):>9}{shown(row['score'], 3):>7}{row['seconds']:>6.1f}"
        f"  {','.join(flags)[:44]}"
    )


def shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
