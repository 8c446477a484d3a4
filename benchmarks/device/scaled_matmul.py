"""The vendor's scaled product beside the references of the FP8 linear layers: as exact, and how fast.

    PYTHONPATH=src python3 benchmarks/device/scaled_matmul.py            # three problems, three sizes each
    PYTHONPATH=src python3 benchmarks/device/scaled_matmul.py --smoke    # small ones, to try the script

``torch._scaled_mm`` takes FP8 with a scale a tensor, a row, or a block of 128 (the last on Hopper, with CUDA
12.9 or newer). Its result and the reference's are both compared with float64 on the same codes and scales, by
the gate that judges solutions. NVFP4 products need Blackwell: they are named as not run elsewhere. What a
device or a version of torch does not support is printed with its reason and counts as not compared, never as
agreement.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src")]
import torch  # noqa: E402
from _cuda_clock import event_ms  # noqa: E402
from _record import record  # noqa: E402
from _workloads import spread_over_sizes  # noqa: E402

from solbench import spec, suite  # noqa: E402
from solbench.gate import budget_gate, measure_error  # noqa: E402

Inputs = Mapping[str, Any]
Product = Callable[[Inputs], torch.Tensor]
SAMPLES = 5
FP8_LARGEST = 448.0


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, and the vendor's way to compute it from the same inputs."""

    problem: str
    product: Product


def by_tensor(inputs: Inputs) -> torch.Tensor:
    return torch._scaled_mm(
        inputs["x"],
        inputs["weight"].t(),
        scale_a=inputs["x_scale"],
        scale_b=inputs["weight_scale"],
        out_dtype=torch.bfloat16,
    )


def by_rows(inputs: Inputs) -> torch.Tensor:
    """Tokens are quantised here, as the problem asks for."""
    wide = inputs["x"].to(torch.float32)
    scales = wide.abs().amax(dim=-1, keepdim=True) / FP8_LARGEST
    codes = (wide / scales).to(torch.float8_e4m3fn)
    return torch._scaled_mm(
        codes,
        inputs["weight"].t(),
        scale_a=scales,
        scale_b=inputs["weight_scales"].t().contiguous(),
        out_dtype=torch.bfloat16,
    )


def by_blocks(inputs: Inputs) -> torch.Tensor:
    """Scales of tokens must lie column by column, those of the weight's blocks in rows padded to four."""
    token_scales = inputs["x_scales"].t().contiguous().t()
    blocks = inputs["weight_scales"]
    padded = torch.ones(
        blocks.shape[0], -(-blocks.shape[1] // 4) * 4, dtype=blocks.dtype, device=blocks.device
    )
    padded[:, : blocks.shape[1]] = blocks
    return torch._scaled_mm(
        inputs["x"],
        inputs["weight"].t(),
        scale_a=token_scales,
        scale_b=padded[:, : blocks.shape[1]].t(),
        out_dtype=torch.bfloat16,
    )


CASES = (
    Case("fp8_linear_tensor_h4096_o28672", by_tensor),
    Case("fp8_linear_rows_h8192_o10240", by_rows),
    Case("fp8_linear_blocks_h16384_o7168", by_blocks),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=int, default=3)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--smoke", action="store_true", help="small workloads, to try the script")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if options.device != "cpu" and not torch.cuda.is_available():
        print("no CUDA device here: nothing compared")
        return
    print(
        f"{'problem':34}{'sizes':>24}{'rms/ref':>9}{'max/ref':>9}{'gate':>6}{'ref ms':>9}{'mm ms':>9}"
    )
    rows = list(compared(options))
    for name in not_run(options.device):
        print(f"{name}: NVFP4 products need Blackwell; not run")
    record("scaled-matmul", summary(rows))


def compared(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for case in CASES:
        problem = suite.load(case.problem, smoke=options.smoke)
        for workload in spread_over_sizes(problem, options.workloads):
            yield one(case, problem, workload, options.device)


def one(case: Case, problem: spec.Problem, workload: spec.Workload, device: str) -> dict[str, Any]:
    """A row: errors against float64 in the reference's own, and times."""
    row: dict[str, Any] = {"problem": case.problem, "axes": dict(workload.axes)}
    inputs = spec.make_inputs(problem, workload, 1, device=device)
    reference = spec.load_reference(problem)
    expected = reference(*inputs.values())
    try:
        output = case.product(inputs)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        reason = str(error).splitlines()[0][:200]
        print(f"{case.problem:34}{sizes(workload):>24} not compared: {reason}")
        return row | {"not_compared": reason}
    truth = exact(inputs)
    own, theirs = measure_error(expected, truth), measure_error(output, truth)
    row |= {
        "rms_ratio": theirs.rms / own.rms,
        "max_ratio": theirs.largest / own.largest,
        "passed": bool(budget_gate(output, expected, truth).passed),
        "reference_ms": least_ms(lambda: reference(*inputs.values()), device),
        "scaled_mm_ms": least_ms(lambda: case.product(inputs), device),
    }
    print(
        f"{case.problem:34}{sizes(workload):>24}{row['rms_ratio']:9.3f}{row['max_ratio']:9.3f}"
        f"{'ok' if row['passed'] else 'FAIL':>6}{row['reference_ms']:9.3f}{row['scaled_mm_ms']:9.3f}"
    )
    return row


def exact(inputs: Inputs) -> torch.Tensor:
    """The product of the codes and scales in float64; codes of tokens are rounded as the reference does."""
    weight = inputs["weight"].to(torch.float64)
    if "weight_scale" in inputs:
        scale = inputs["x_scale"].to(torch.float64) * inputs["weight_scale"].to(torch.float64)
        return inputs["x"].to(torch.float64) @ weight.T * scale
    if "x_scales" in inputs:
        scales = inputs["weight_scales"].to(torch.float64)
        spread = scales.repeat_interleave(128, dim=0).repeat_interleave(128, dim=1)
        tokens = inputs["x"].to(torch.float64)
        return (
            tokens
            * inputs["x_scales"].to(torch.float64).repeat_interleave(128, dim=1)
            @ (weight * spread).T
        )
    wide = inputs["x"].to(torch.float32)
    scales = wide.abs().amax(dim=-1, keepdim=True) / FP8_LARGEST
    codes = (wide / scales).to(torch.float8_e4m3fn).to(torch.float64)
    return codes @ weight.T * scales.to(torch.float64) * inputs["weight_scales"].to(torch.float64).T


def least_ms(run: Callable[[], Any], device: str) -> float:
    """Least of five event pairs, warm caches: a comparison of the two, not a record."""
    if device == "cpu":
        return 0.0
    run()
    return min(event_ms(run) for _ in range(SAMPLES))


def not_run(device: str) -> list[str]:
    """The linear layers in NVFP4 on both sides, on a device before Blackwell."""
    if device != "cpu" and torch.cuda.get_device_capability(device)[0] >= 10:
        return []
    return [name for name in suite.names() if name.startswith("nvfp4_linear")]


def sizes(workload: spec.Workload) -> str:
    return ", ".join(f"{axis} {size}" for axis, size in workload.axes.items())


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    done = [row for row in rows if "not_compared" not in row]
    return {
        "compared": len(done),
        "not_compared": len(rows) - len(done),
        "passed": sum(row["passed"] for row in done),
        "largest_rms_ratio": max((row["rms_ratio"] for row in done), default=None),
        "rows": rows,
    }


if __name__ == "__main__":
    main()
