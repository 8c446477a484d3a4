"""The main job on the bundled examples, through the library as a user would call it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rich.console import Console

import solbench
from solbench.report import by_solution, evaluation_report, html_page, overview_table, summarise
from solbench.spec import trace_line

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", help="names under examples/; default: all")
    parser.add_argument("--device", help="cpu or cuda:0; default: the GPU if there is one")
    parser.add_argument("--all", action="store_true", help="every workload, not two a problem")
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder of the results")
    options = parser.parse_args()
    console = Console(highlight=False)
    device = options.device or first_device()
    folders = [EXAMPLES / name for name in options.examples] or problem_folders()
    started = time.monotonic()
    console.print(f"SolBench demo: {len(folders)} problems on {device}\n")
    traces = []
    with solbench.Judge(device) as judge:
        for folder in folders:
            problem = load(folder, device)
            chosen = [each.uuid for each in problem.workloads]
            if not options.all:
                chosen = [chosen[0], chosen[-1]]
            for file in solution_files(folder, device):
                result = judge.evaluate(problem, solbench.load_solution(file), workloads=chosen)
                console.print(evaluation_report(result.traces))
                console.print()
                traces += result.traces
    save(traces, options.out)
    console.print(overview_table([summarise(group) for group in by_solution(traces).values()]))
    console.print(f"{len(traces)} workload results in {time.monotonic() - started:.0f} s")
    console.print(f"traces: {options.out / 'traces.jsonl'}", soft_wrap=True)
    console.print(f"page:   {options.out / 'index.html'}", soft_wrap=True)


def first_device() -> str:
    import torch

    return "cuda:0" if torch.cuda.is_available() else "cpu"


def problem_folders() -> list[Path]:
    return sorted(file.parent for file in EXAMPLES.glob("*/definition.json"))


def load(folder: Path, device: str) -> solbench.Problem:
    """On a GPU the larger workloads beside the small ones, so that the numbers mean something."""
    large = folder / "workload_gpu.jsonl"
    if device != "cpu" and large.exists():
        return solbench.load_problem(folder, workload_file=large.name)
    return solbench.load_problem(folder)


def solution_files(folder: Path, device: str) -> list[Path]:
    """The honest fast one, the honest slow one and the wrong one; then those for this device."""
    extra = ("cpp",) if device == "cpu" else ("triton", "cuda")
    names = ("fast", "slow", "wrong", *extra)
    return [file for name in names if (file := folder / f"solution_{name}.json").exists()]


def save(traces: list[solbench.Trace], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "traces.jsonl").write_text("".join(trace_line(t) + "\n" for t in traces))
    (folder / "index.html").write_text(html_page(traces, "SolBench demo"), encoding="utf-8")


if __name__ == "__main__":
    main()
