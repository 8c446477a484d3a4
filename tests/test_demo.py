"""The README's first command: which examples it runs, and what it leaves behind."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import solbench
from solbench.spec import Trace, read_traces

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def demo() -> Any:
    spec = importlib.util.spec_from_file_location("demo", ROOT / "scripts" / "_demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class StandIn:
    """A judge that passes everything whose name does not say ``wrong``."""

    def __init__(self, make_trace: Callable[..., Trace]) -> None:
        self.make_trace = make_trace
        self.devices: list[str] = []

    def __call__(self, device: str) -> "StandIn":
        self.devices.append(device)
        return self

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def evaluate(self, problem: Any, solution: Any, workloads: list[str]) -> Any:
        status = "INCORRECT_NUMERICAL" if "wrong" in solution.name else "PASSED"
        names = {"definition": problem.name, "solution": solution.name}
        traces = tuple(self.make_trace(uuid, status=status, **names) for uuid in workloads)
        return SimpleNamespace(traces=traces)


def test_every_example_has_an_honest_fast_an_honest_slow_and_a_wrong_solution(demo: Any) -> None:
    folders = demo.problem_folders()
    assert len(folders) >= 6
    for folder in folders:
        names = [file.stem for file in demo.solution_files(folder, "cpu")]
        assert names[:3] == ["solution_fast", "solution_slow", "solution_wrong"], folder


def test_on_a_gpu_the_large_workloads_and_the_gpu_languages_are_taken(demo: Any) -> None:
    folder = demo.EXAMPLES / "rmsnorm"
    small = {each.uuid for each in demo.load(folder, "cpu").workloads}
    large = {each.uuid for each in demo.load(folder, "cuda:0").workloads}
    assert large - small, "nothing is larger there"
    names = [file.stem for file in demo.solution_files(folder, "cuda:0")]
    assert {"solution_triton", "solution_cuda"} <= set(names)
    assert "solution_cpp" not in names


def test_the_demo_ends_with_a_table_and_a_page(
    demo: Any,
    make_trace: Callable[..., Trace],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    judge = StandIn(make_trace)
    monkeypatch.setattr(solbench, "Judge", judge)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(
        sys, "argv", ["demo", "rmsnorm", "swiglu", "--device", "cpu", "--out", str(tmp_path)]
    )
    demo.main()
    shown = capsys.readouterr().out
    assert judge.devices == ["cpu"]
    assert "rmsnorm-fast" in shown
    assert "swiglu-wrong" in shown
    assert shown.rstrip().endswith("index.html")
    assert all(len(line) <= 80 for line in shown.splitlines() if str(tmp_path) not in line)
    assert "swiglu-wrong" in (tmp_path / "index.html").read_text()
    assert len({trace.solution for trace in read_traces(tmp_path / "traces.jsonl")}) >= 6
