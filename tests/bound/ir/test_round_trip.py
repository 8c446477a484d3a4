"""A lifted graph written and read back is the same graph, with the same demand and bound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from solbench import suite
from solbench.bound import Program, derive_bound, function_program, module_program, problem_program
from solbench.bound._analyse import demand_of
from solbench.bound._bands import Bands
from solbench.bound._boxes import Box, Joint
from solbench.bound.ir import derive_from_ir, export_ir, lift_program, read_ir, write_ir
from solbench.bound.ir._arrays import Encoder, read_array, read_box, read_index_set
from solbench.errors import InputError
from solbench.hardware import load_hardware

yaml = pytest.importorskip("yaml")
CORPUS = sorted((Path(__file__).parents[1] / "corpus").glob("*.py"))
SUITE = (
    "rmsnorm_h4096",
    "fp8_linear_blocks_h16384_o7168",
    "attention_block_paged_extend_bf16_h4096",
)


def check(program: Program, file: Path) -> None:
    lifted = lift_program(program)
    write_ir(lifted, file)
    back = read_ir(file)
    assert export_ir(back) == file.read_text(encoding="utf-8")
    assert demand_of(back.lifted, back.capture) == demand_of(lifted.lifted, lifted.capture)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_program_of_the_corpus_comes_back_as_it_was(path: Path, tmp_path: Path) -> None:
    check(module_program(path), tmp_path / "graph.yaml")


@pytest.mark.parametrize("name", SUITE)
def test_a_problem_of_the_suite_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    problem = suite.load(name, smoke=True)
    check(problem_program(problem, problem.workloads[0]), tmp_path / "graph.yaml")


def small() -> Program:
    inputs = (torch.empty(4, 8, device="meta"), torch.empty(8, 16, device="meta"))
    return function_program(lambda a, b: (a @ b)[1:3], inputs, name="small", workload="w")


def test_a_file_gives_the_bound_of_the_program(tmp_path: Path) -> None:
    write_ir(lift_program(small()), tmp_path / "small.yaml")
    device = load_hardware("h200")
    found = derive_from_ir(read_ir(tmp_path / "small.yaml"), device)
    (expected,) = derive_bound(small(), device)
    assert found.t_sol_ms == expected.t_sol_ms
    assert found.terms == expected.terms
    assert (found.problem, found.workload) == ("small", "w")


def test_the_text_names_ranks_operands_and_storages() -> None:
    data = yaml.safe_load(export_ir(lift_program(small())))
    product = next(node for node in data["nodes"] if node.get("contraction"))
    assert product["einsum"] == "ik,kj->ij"
    assert (product["map"], product["reduce"]) == ("multiply", "sum")
    assert product["ranks"] == {"i": 4, "j": 16, "k": 8}
    assert [operand["at"] for operand in product["in"]] == [["i", "k"], ["k", "j"]]
    rows = next(node for node in data["nodes"] if node["op"].startswith("aten.slice"))
    assert rows["in"][0]["at"] == ["i+1", "j"]
    first = data["values"][data["inputs"]["a"]]
    assert (first["shape"], first["dtype"], first["stride"]) == ([4, 8], "float32", [8, 1])


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("solbench_ir: 1", "solbench_ir: 9", "solbench_ir"),
        ("capture: fake", "capture: maybe", "capture"),
        ("dtype: float32", "dtype: float33", "values.v0"),
        ("at: [i, k]", "at: [i, '?']", "nodes[0]"),
        ("precision_travels: computed", "precision_travels: away", "nodes[0]"),
        ("ranks: {", "sizes: {", "nodes[0]"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, place: str) -> None:
    text = export_ir(lift_program(small()))
    assert old in text
    file = tmp_path / "wrong.yaml"
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_ir(file)
    assert str(file) in str(caught.value)
    assert place in str(caught.value)


def test_a_file_that_is_no_yaml_is_refused_and_no_object_is_built(tmp_path: Path) -> None:
    file = tmp_path / "evil.yaml"
    for text in ("a: [", "solbench_ir: !!python/object/apply:os.getcwd []"):
        file.write_text(text)
        with pytest.raises(InputError, match="YAML"):
            read_ir(file)


def test_arrays_come_back() -> None:
    encoder = Encoder()
    for array in (np.arange(5), np.arange(600).reshape(20, 30) * 7, np.empty(0, dtype=np.int64)):
        found = read_array(encoder.array(array))
        assert found.reshape(array.shape).tolist() == array.tolist()
    mask = np.tri(50, dtype=np.bool_)
    assert bool((read_array(encoder.array(mask), boolean=True) == mask).all())
    assert read_index_set(encoder.index_set(range(3, 20, 4))) == range(3, 20, 4)


def test_bands_come_back() -> None:
    bands = Bands(np.zeros(40, dtype=np.int64), np.arange(40) + 1, 40)
    found = read_box(Encoder().box(Box((range(40), range(40)), (Joint((0, 1), bands),))))
    assert bool((found.joints[0].dense() == np.tri(40, dtype=np.bool_)).all())
