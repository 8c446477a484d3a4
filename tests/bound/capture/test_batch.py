"""Many programs at once: each gets its line, whatever it does to its process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from solbench.bound import Bound, bound_lines, bound_record, find_programs
from solbench.errors import InputError

_MODEL = """\
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        {body}
        return x + 1

def get_inputs():
    return [torch.zeros(4, 8)]
"""
_DEFINITION = {
    "name": "double",
    "axes": {"n": {"type": "var"}},
    "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
    "reference": "def run(x):\n    return x * 2\n",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    bodies = {
        "a_good": "pass",
        "b_leaves": "import os; os._exit(0)",
        "c_exits": "raise SystemExit(3)",
        "d_crashes": "import ctypes; ctypes.string_at(0)",
        "e_hangs": "while True: pass",
        "f_greedy": "x = bytearray(1 << 45)",
    }
    for name, body in bodies.items():
        (folder / f"{name}.py").write_text(_MODEL.format(body=body))
    (folder / "helper.py").write_text("VALUE = 1\n")
    problem = folder / "g" / "double"
    problem.mkdir(parents=True)
    (problem / "definition.json").write_text(json.dumps(_DEFINITION))
    (problem / "workload.jsonl").write_text(
        '{"uuid": "small", "axes": {"n": 4}}\n{"uuid": "large", "axes": {"n": 1024}}\n'
    )
    broken = folder / "h_broken"
    broken.mkdir()
    (broken / "definition.json").write_text("{}")
    (broken / "workload.jsonl").write_text("")
    return folder


@pytest.fixture(scope="module")
def bounds(corpus: Path) -> list[Bound]:
    return list(bound_lines([corpus], "h200", jobs=2, timeout_s=6))


def test_programs_are_found_in_order_and_helpers_are_not(corpus: Path) -> None:
    names = [(found.kind, found.path.name) for found in find_programs(corpus)]
    modules = ["a_good", "b_leaves", "c_exits", "d_crashes", "e_hangs", "f_greedy"]
    expected = [("module", f"{name}.py") for name in modules]
    assert names == [*expected, ("problem", "double"), ("problem", "h_broken")]
    assert find_programs(corpus / "helper.py")[0].kind == "module"


def test_a_path_without_programs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        find_programs(tmp_path / "none")
    with pytest.raises(InputError, match="no problem folder"):
        find_programs(tmp_path)
    text = tmp_path / "bounds.json"
    text.write_text("{}")
    with pytest.raises(InputError, match="is no program"):
        find_programs(text)


def test_every_program_has_its_line_in_order(bounds: list[Bound], corpus: Path) -> None:
    names = [bound.problem.removeprefix(f"{corpus}/") for bound in bounds]
    assert names == [
        "a_good.py", "b_leaves.py", "c_exits.py", "d_crashes.py", "e_hangs.py", "f_greedy.py",
        "double", "double", "h_broken",
    ]  # fmt: skip
    assert [bound.workload for bound in bounds[6:8]] == ["small", "large"]


def test_a_good_program_is_not_harmed_by_its_neighbours(bounds: list[Bound]) -> None:
    good, large = bounds[0], bounds[7]
    assert good.complete and good.error is None
    # 4 × 8 floats are read and written; 1024 floats in the problem's larger workload.
    assert (good.dram_read_bytes, good.dram_write_bytes) == (128, 128)
    assert (large.dram_read_bytes, large.dram_write_bytes) == (4096, 4096)


@pytest.mark.parametrize(
    ("position", "reason"),
    [
        (1, "line 5: import os; os._exit(0): the process exited with status 0"),
        (2, "line 5: raise SystemExit(3): SystemExit: 3"),
        (3, "line 5: import ctypes; ctypes.string_at(0): the process died of SIGSEGV"),
        (4, "line 5: while True: pass: took longer than 6 s"),
        (5, "line 5: x = bytearray(1 << 45): MemoryError"),
    ],
)
def test_a_failure_names_the_line_of_the_program(
    bounds: list[Bound], position: int, reason: str
) -> None:
    bound = bounds[position]
    assert bound.error is not None and bound.error.startswith(reason)
    assert bound.t_sol_ms is None and not bound.complete


def test_a_broken_problem_is_a_line_with_its_error(bounds: list[Bound]) -> None:
    assert bounds[-1].error is not None
    assert "definition.json" in bounds[-1].error


def test_what_a_file_already_holds_is_skipped(
    bounds: list[Bound], corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bounds.jsonl"
    lines = [json.dumps(bound_record(bound)) for bound in bounds]
    out.write_text("\n".join(lines) + '\n{"problem": "torn')
    assert list(bound_lines([corpus], "h200", out=out)) == []


def test_a_record_has_the_keys_of_the_contract(bounds: list[Bound]) -> None:
    record = bound_record(replace(bounds[0], unknown_ops=("aten.x",)))
    assert list(record) == [
        "problem", "workload", "hardware", "clock_mhz", "t_sol_ms", "t_attainable_ms",
        "t_floor_ms", "binding", "matrix_flops", "dram_read_bytes", "dram_write_bytes",
        "complete", "unknown_ops", "capture", "verified", "verified_nodes", "total_nodes",
        "unverified", "precision", "assumptions", "seconds", "error", "admission",
    ]  # fmt: skip
    assert json.loads(json.dumps(record, allow_nan=False)) == record
