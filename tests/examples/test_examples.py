"""The bundled examples: honest solutions agree with their references, wrong ones do not."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import _direct as direct
import pytest
import torch

from solbench.gate import official_gate_all
from solbench.spec import Problem, check, json_text, load_problem, load_reference, pack

CASES = [(name, w) for name in direct.NAMES for w in range(5)]
SEEDS = (11, 2026)


def same(a: Any, b: Any) -> bool:
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else bool(a == b)


@pytest.mark.parametrize("name", direct.NAMES)
def test_an_example_has_no_findings(name: str) -> None:
    assert check(direct.EXAMPLES / name) == []


def test_there_are_seven_examples_of_five_workloads_each() -> None:
    assert len(direct.NAMES) == 7
    assert [len(direct.problem(name).workloads) for name in direct.NAMES] == [5] * 7


@pytest.mark.parametrize("name", direct.NAMES)
def test_the_definition_holds_the_reference_file(name: str) -> None:
    text = (direct.EXAMPLES / name / "reference.py").read_text()
    assert direct.problem(name).definition.reference == text


@pytest.mark.parametrize("path", sorted(direct.EXAMPLES.glob("*/solutions/*")), ids=str)
def test_packed_solutions_equal_their_loose_sources(path: Path) -> None:
    packed = path.parents[1] / f"solution_{path.name}.json"
    assert packed.read_text() == json_text(pack(path))


@pytest.mark.parametrize("name", direct.NAMES)
def test_every_example_has_a_fast_a_slow_and_a_wrong_solution(name: str) -> None:
    for variant in ("fast", "slow", "wrong"):
        assert direct.solution(name, variant).definition == name


@pytest.mark.parametrize("name", direct.NAMES)
def test_gpu_workloads_fit_the_same_definition(name: str, tmp_path: Path) -> None:
    folder = direct.EXAMPLES / name
    shutil.copy(folder / "definition.json", tmp_path)
    shutil.copy(folder / "workload_gpu.jsonl", tmp_path / "workload.jsonl")
    large, small = load_problem(tmp_path), load_problem(folder)
    assert len(large.workloads) == 5
    by_uuid = {workload.uuid: workload for workload in small.workloads}
    assert all(by_uuid.get(w.uuid, w).axes == w.axes for w in large.workloads)
    largest, smallest = (max(bytes_of(task, w) for w in range(5)) for task in (large, small))
    assert largest > 10 * smallest
    assert largest < 8 << 30


def bytes_of(task: Problem, index: int) -> int:
    with torch.device("meta"):
        return direct.declared_bytes(task, task.workloads[index])


@pytest.mark.parametrize("name", direct.NAMES)
def test_workloads_are_small_enough_for_a_laptop(name: str) -> None:
    task = direct.problem(name)
    assert max(bytes_of(task, index) for index in range(5)) <= 16 << 20


@pytest.mark.parametrize(("name", "index"), CASES)
@pytest.mark.parametrize("variant", ["fast", "slow"])
def test_honest_solutions_agree_with_the_reference(name: str, index: int, variant: str) -> None:
    task, packed = direct.problem(name), direct.solution(name, variant)
    workload = task.workloads[index]
    for seed in SEEDS:
        inputs = direct.make_inputs(task, workload, seed)
        got = direct.run_python(task, workload, packed, inputs)
        want = direct.expected(task, workload, inputs)
        result = official_gate_all(got, want, workload.tolerance)
        assert result.passed, result


@pytest.mark.parametrize(("name", "index"), CASES)
def test_wrong_solutions_fail_every_workload(name: str, index: int) -> None:
    task, packed = direct.problem(name), direct.solution(name, "wrong")
    workload = task.workloads[index]
    for seed in SEEDS:
        inputs = direct.make_inputs(task, workload, seed)
        got = direct.run_python(task, workload, packed, inputs)
        want = direct.expected(task, workload, inputs)
        assert official_gate_all(got, want, workload.tolerance).status == "INCORRECT_NUMERICAL"


@pytest.mark.parametrize(("name", "index"), CASES)
def test_null_answers_fail(name: str, index: int) -> None:
    task = direct.problem(name)
    workload = task.workloads[index]
    want = direct.expected(task, workload, direct.make_inputs(task, workload, 1))
    for fill in (torch.zeros_like, torch.ones_like):
        got = {key: fill(value) for key, value in want.items()}
        assert not official_gate_all(got, want, workload.tolerance).passed


def next_lower(tensor: torch.Tensor) -> torch.Tensor:
    """Rounded to the next lower precision, in its own dtype."""
    eight = torch.float8_e4m3fn
    lower = {torch.float32: torch.bfloat16, torch.bfloat16: eight, torch.float16: eight}
    return tensor.to(lower[tensor.dtype]).to(tensor.dtype) if tensor.dtype in lower else tensor


@pytest.mark.parametrize("name", direct.NAMES)
def test_the_next_lower_precision_fails(name: str) -> None:
    task = direct.problem(name)
    workload = task.workloads[-1]
    inputs = direct.make_inputs(task, workload, 1)
    low = {k: next_lower(v) if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}
    want = direct.expected(task, workload, inputs)
    got = direct.expected(task, workload, low)
    assert not official_gate_all(got, want, workload.tolerance).passed


@pytest.mark.parametrize("name", direct.NAMES)
def test_inputs_are_the_same_for_a_seed_and_differ_between_seeds(name: str) -> None:
    task = direct.problem(name)
    workload = task.workloads[-1]
    first, again, other = (direct.make_inputs(task, workload, seed) for seed in (5, 5, 6))
    assert all(same(first[key], again[key]) for key in first)
    assert not all(same(first[key], other[key]) for key in first)


def test_page_tables_are_what_an_engine_would_hold() -> None:
    task = direct.problem("paged_gather")
    for workload in task.workloads:
        axes = task.axis_values(workload)
        made = [direct.make_inputs(task, workload, seed) for seed in SEEDS]
        table, lengths = made[0]["page_table"], made[0]["sequence_lengths"]
        assert isinstance(table, torch.Tensor)
        assert isinstance(lengths, torch.Tensor)
        used = table[table >= 0]
        assert used.unique().numel() == used.numel()
        assert int(used.max()) < axes["num_pages"]
        assert (table >= 0).sum(dim=1).tolist() == [-(-n // 16) for n in lengths.tolist()]
        assert int(lengths.min()) >= 1
        assert int(lengths.max()) <= axes["max_length"]
        # lengths belong to the workload, page identities to the draw
        assert same(lengths, made[1]["sequence_lengths"])
        assert not same(table, made[1]["page_table"])


def test_routing_is_skewed_as_in_a_trained_model() -> None:
    task = direct.problem("moe_routing")
    workload = task.workloads[-1]
    inputs = direct.make_inputs(task, workload, 3)
    chosen = direct.expected(task, workload, inputs)["chosen"]
    load = chosen.flatten().bincount(minlength=256).float()
    assert load.max() > 3 * load.mean()
    assert chosen.sort(dim=1).values.diff(dim=1).min() > 0


def test_routing_never_hangs_on_the_last_bit() -> None:
    task = direct.problem("moe_routing")
    run = load_reference(task)
    for workload in task.workloads:
        for seed in range(5):
            inputs = direct.make_inputs(task, workload, seed)
            exact = [v.double() if isinstance(v, torch.Tensor) else v for v in inputs.values()]
            assert same(run(*inputs.values())[0], run(*exact)[0])


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(("name", "variant"), direct.variants("cpp"))
def test_cpp_solutions_agree_with_the_reference(name: str, variant: str, tmp_path: Path) -> None:
    task = direct.problem(name)
    library = direct.compile_cpp(direct.solution(name, variant), tmp_path)
    for workload in task.workloads:
        for seed in SEEDS:
            inputs = direct.make_inputs(task, workload, seed)
            got = direct.run_native(library, task, workload, inputs)
            want = direct.expected(task, workload, inputs)
            result = official_gate_all(got, want, workload.tolerance)
            assert result.passed, result


@pytest.mark.triton
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton")
@pytest.mark.parametrize(("name", "variant"), direct.variants("triton"))
def test_triton_solutions_agree_through_the_interpreter(name: str, variant: str) -> None:
    # Triton decides at import whether it interprets, and needs sources on disk: a process of its own.
    script = Path(__file__).with_name("_interpret.py")
    done = subprocess.run(
        [sys.executable, str(script), name, variant],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"status": "PASSED"}


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize(("name", "variant"), direct.variants("cuda_cpp"))
def test_cuda_solutions_compile(name: str, variant: str, tmp_path: Path) -> None:
    packed = direct.solution(name, variant)
    direct.write_sources(packed, tmp_path)
    target = ["-gencode", "arch=compute_90a,code=sm_90a", "-Werror", "all-warnings"]
    command = ["nvcc", "-O3", "-c", *target, packed.spec.entry_file, "-o", "solution.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
