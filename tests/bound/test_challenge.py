"""Challenges: explanations of a time below the bound, and a wrong rule that is shrunk to a tiny program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from solbench.bound import Bound, analyse, capture, derive_bound, function_program
from solbench.bound._lifted import Lifted
from solbench.bound.challenge import (
    Case,
    Count,
    Excess,
    challenge,
    challenge_record,
    challenge_text,
    count_work,
    excess,
    triage,
    write_challenge,
)
from solbench.bound.challenge._rewrite import parameters, smaller, unread_parameters
from solbench.bound.rules._base import RULES, Call
from solbench.errors import InputError
from solbench.hardware import load_hardware
from solbench.spec import Definition, Problem, Workload, load_problem, make_problem

LAYERS = '''import torch


def run(x, w, b, scale):
    """Two outputs, of which each needs the first four rows only."""
    h = torch.relu(x @ w)
    g = torch.sigmoid(h) * scale
    top = g[:4]
    y = top + b
    z = torch.tanh(top).sum(dim=-1)
    return y, z
'''


def layers() -> Problem:
    tensors: dict[str, list[str]] = {
        "x": ["m", "k"],
        "w": ["k", "n"],
        "b": ["n"],
        "scale": ["m", "n"],
    }
    record = {
        "name": "layers",
        "axes": {"m": {"type": "var"}, "k": {"type": "var"}, "n": {"type": "const", "value": 32}},
        "inputs": {name: {"shape": shape, "dtype": "float32"} for name, shape in tensors.items()},
        "outputs": {"y": {"shape": ["4", "n"], "dtype": "float32"}, "z": {"shape": ["4"], "dtype": "float32"}},
        "reference": LAYERS,
    }  # fmt: skip
    workload = {"uuid": "only", "axes": {"m": 4096, "k": 64}}
    return make_problem(
        Definition.model_validate_json(json.dumps(record)),
        [Workload.model_validate_json(json.dumps(workload))],
    )


@pytest.fixture
def slices_read_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that makes bounds too large: a slice needs its whole operand."""

    def wrong(call: Call) -> Iterable[Lifted]:
        yield call.everything()

    monkeypatch.setitem(RULES, "aten.slice.Tensor", wrong)


@pytest.mark.usefixtures("slices_read_everything")
def test_a_rule_that_asks_for_too_much_is_shrunk_to_its_operation(tmp_path: Path) -> None:
    problem = layers()
    found = challenge(problem, problem.workloads[0], "h200", latency_ms=1e-6)
    assert found.verdict == "refuted"
    assert found.finding is not None
    assert found.reproducer is not None
    assert [node.op for node in found.finding.graph.nodes] == ["aten.slice.Tensor"]
    # five rows of one tensor are left, of which the slice takes four
    assert list(found.reproducer.definition.inputs) in (["x"], ["scale"])
    excess_ = found.finding.excess
    assert excess_.resource == "dram"
    # reads and writes of 4-byte elements: rows of 2, five against four, and four written
    assert (excess_.bound, excess_.counted) == ((5 + 4) * 2 * 4, (4 + 4) * 2 * 4)
    assert "aten.slice.Tensor" in found.suspect
    text = challenge_text(found)
    assert "Term to distrust: **dram**" in text
    assert "[:4]" in text
    folder = tmp_path / "tiny"
    write_challenge(found, folder)
    tiny = load_problem(folder)
    again = challenge(tiny, tiny.workloads[0], "h200")
    assert again.verdict == "refuted"
    assert (folder / "CHALLENGE.md").read_text(encoding="utf-8") == text
    assert json.loads((folder / "challenge.json").read_text())["verdict"] == "refuted"
    with pytest.raises(InputError, match="not empty"):
        write_challenge(found, folder)


def test_with_the_right_rule_nothing_is_refuted() -> None:
    problem = layers()
    found = challenge(problem, problem.workloads[0], "h200", latency_ms=1e-6)
    assert found.verdict == "unexplained"
    assert found.finding is None
    assert "distrust the rates" in challenge_text(found)
    assert challenge(problem, problem.workloads[0], "h200").verdict == "agrees"


def test_a_claim_that_stands_is_followed_to_small_sizes() -> None:
    """A kernel that is said to move a tenth of the demanded bytes at every size."""
    problem = layers()
    chip = load_hardware("h200")

    def tenth(case: Case) -> float:
        (bound,) = derive_bound(case.problem, chip)
        return 0.1 * (bound.t_floor_ms or 0.0)

    found = challenge(
        problem, problem.workloads[0], chip, latency_ms=1e-9, times=tenth, attempts=40
    )
    assert found.verdict == "reproduced"
    assert found.reproducer is not None
    sizes = found.reproducer.problem.axis_values(found.reproducer.workload)
    assert sizes["k"] == 2
    assert found.reproducer.definition.reference == LAYERS
    assert json.dumps(challenge_record(found))


# ---- triage ----


def bound_of(function: Any, *shapes: tuple[int, ...], dtype: torch.dtype = torch.bfloat16) -> Bound:
    inputs = [torch.empty(shape, dtype=dtype, device="meta") for shape in shapes]
    (bound,) = derive_bound(function_program(function, inputs), "h200")
    return bound


def kinds(bound: Bound, latency_ms: float) -> dict[str, bool]:
    found = triage(bound, latency_ms, load_hardware(bound.hardware))
    return {each.kind: each.explains for each in found}


def test_a_time_above_the_bound_is_no_challenge() -> None:
    bound = bound_of(lambda x: x + 1, (1 << 20,))
    assert kinds(bound, (bound.t_sol_ms or 0) * 1.01) == {"not_faster": True}


def test_writes_that_fit_the_cache_explain_a_fill() -> None:
    bound = bound_of(lambda x: x.expand(1 << 20, 2), (1, 2))
    written = bound_of(lambda x: x.repeat(1 << 20, 1), (1, 2))
    assert bound.t_sol_ms is not None
    assert written.t_sol_ms is not None
    assert kinds(written, 0.5 * written.t_sol_ms)["write_absorbed"]


def test_a_lower_precision_explains_a_factor_of_two() -> None:
    bound = bound_of(lambda a, b: a @ b, (4096, 4096), (4096, 4096))
    assert bound.t_sol_ms is not None
    assert kinds(bound, 0.6 * bound.t_sol_ms)["gate_too_loose"]  # fp8 is twice as fast
    assert not kinds(bound, 0.4 * bound.t_sol_ms)["gate_too_loose"]


def test_strassen_saves_an_eighth_of_a_large_product_and_nothing_of_a_small_one() -> None:
    large = bound_of(lambda a, b: a @ b, (8192, 8192), (8192, 8192))
    assert large.t_sol_ms is not None
    assert kinds(large, 0.88 * large.t_sol_ms)["nonclassical"]
    assert not kinds(large, 0.80 * large.t_sol_ms)["nonclassical"]
    small = replace(large, demand=bound_of(lambda a, b: a @ b, (512, 512), (512, 512)).demand)
    assert "nonclassical" not in kinds(small, 0.88 * large.t_sol_ms)


def test_winograd_explains_a_3_by_3_convolution() -> None:
    bound = bound_of(
        lambda x, w: torch.nn.functional.conv2d(x, w, padding=1),
        (64, 512, 56, 56), (512, 512, 3, 3),
    )  # fmt: skip
    assert bound.binding == "matrix"
    assert bound.t_sol_ms is not None
    assert kinds(bound, 0.45 * bound.t_sol_ms)["nonclassical"]
    assert not kinds(bound, 0.40 * bound.t_sol_ms)["nonclassical"]


def test_a_clock_below_the_highest_explains_its_share() -> None:
    program = function_program(
        lambda a, b: a @ b,
        [torch.empty(4096, 4096, dtype=torch.bfloat16, device="meta") for _ in range(2)],
    )
    (bound,) = derive_bound(program, "h200", clock_mhz=990)
    assert bound.t_sol_ms is not None
    assert kinds(bound, 0.51 * bound.t_sol_ms)["clock"]  # 1980 MHz is twice as fast
    assert not kinds(bound, 0.49 * bound.t_sol_ms)["clock"]


def test_the_rates_that_a_claim_implies_are_said() -> None:
    bound = bound_of(lambda x: x + 1, (1 << 20,))
    found = triage(bound, 1e-4, load_hardware("h200"))
    # 4 MiB in 0.1 us
    assert "4.194e+13 B/s" in found[-1].detail


# ---- the independent count ----


def counted(function: Any, *inputs: torch.Tensor) -> tuple[Count, Excess | None]:
    program = function_program(function, inputs)
    graph, rung = capture(program)
    demand = analyse(graph, rung)
    count = count_work(program, graph, demand)
    return count, excess(demand, count)


def test_elements_that_gradients_reach_are_counted() -> None:
    count, none = counted(lambda x: torch.relu(x[:, 1]) * 2, torch.randn(6, 3))
    assert count == Count(read_bytes=6 * 4, write_bytes=6 * 4, macs=0)
    assert none is None


def test_products_that_reach_an_output_and_are_not_zero_are_counted() -> None:
    def lower(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (torch.tril(a) @ b)[:2]

    count, none = counted(lower, torch.randn(4, 4), torch.randn(4, 5))
    # rows 0 and 1 of a lower triangle hold 1 and 2 elements; each meets 5 columns
    assert count.macs == 15
    assert count.read_bytes == (3 + 2 * 5) * 4
    assert none is None


def test_products_of_eight_bit_floats_count_whole() -> None:
    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.to(torch.float32) @ b.to(torch.float32)

    a, b = (torch.rand(4, 4).add(1).to(torch.float8_e4m3fn) for _ in range(2))
    count, none = counted(run, a, b)
    assert (count.macs, count.read_bytes) == (64, 32)
    assert none is None


def test_sizes_that_an_axis_does_not_allow_are_passed_over() -> None:
    problem = layers()
    record = json.loads(problem.definition.model_dump_json(exclude_none=True))
    record["axes"]["blocks"] = {"type": "expr", "expression": "n // 16"}
    definition = Definition.model_validate_json(json.dumps(record))
    split = make_problem(definition, problem.workloads)
    assert challenge(split, split.workloads[0], "h200").verdict == "agrees"


def test_what_gradients_cannot_see_counts_whole() -> None:
    count, none = counted(lambda x: x.argmax(), torch.randn(8))
    assert count.whole == ("aten.argmax.default",)
    assert count.read_bytes == 32
    assert none is None
    chosen, _ = counted(lambda x: x.amax(), torch.randn(8))
    assert chosen.read_bytes == 32


def test_attention_under_a_causal_mask_agrees_at_small_sizes() -> None:
    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-1, -2)
        hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1) @ v

    count, none = counted(attention, *(torch.randn(2, 5, 3) for _ in range(3)))
    assert count.macs is not None
    assert none is None


# ---- smaller programs ----


def test_smaller_programs_are_parts_of_the_program() -> None:
    found = set(smaller(LAYERS))
    assert (
        "import torch\n\ndef run(x, w, b, scale):\n    h = torch.relu(x @ w)\n    return h" in found
    )
    assert any("return z" in each and "y =" not in each for each in found)
    assert all(parameters(each) == ("x", "w", "b", "scale") for each in found)


def test_inputs_that_nothing_reads_are_known() -> None:
    assert unread_parameters("def run(a, b, c):\n    return a[b]") == {"c"}
