from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from solbench.errors import ReferenceFailed, SpecError
from solbench.spec import input_layout, load_problem, make_inputs, unpack_float4

Write = Callable[..., Path]


def test_inputs_come_in_declared_order_with_declared_shapes_and_dtypes(public_form: Path) -> None:
    problem = load_problem(public_form / "norm_project")
    workload = problem.workload("norm-0")
    inputs = make_inputs(problem, workload, 7)
    assert list(inputs) == list(problem.definition.inputs)
    layouts = {layout.name: layout for layout in input_layout(problem, workload)}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            assert layouts[name].shape == tuple(value.shape)
            assert layouts[name].nbytes == value.numel() * value.element_size()
    assert inputs["temperature"] == layouts["temperature"].value == 1
    assert layouts["temperature"].shape is None
    assert layouts["temperature"].nbytes == 0


def test_inputs_are_a_function_of_the_seed(public_form: Path) -> None:
    problem = load_problem(public_form / "norm_project")
    first, twin = problem.workload("norm-0"), problem.workload("norm-1")
    x = make_inputs(problem, first, 7)["x"]
    torch.manual_seed(1)  # the global generator has no part in it
    again = make_inputs(problem, first, 7)["x"]
    assert isinstance(x, torch.Tensor) and isinstance(again, torch.Tensor)
    assert torch.equal(x, again)
    for other in (
        make_inputs(problem, first, 8)["x"],
        make_inputs(problem, first, b"secret")["x"],
        make_inputs(problem, twin, 7)["x"],
    ):
        assert isinstance(other, torch.Tensor)
        assert not torch.equal(x, other)


def test_unlisted_inputs_are_random_scalars_too(public_form: Path) -> None:
    problem = load_problem(public_form / "norm_project")
    workload = problem.workload("norm-2")
    inputs = make_inputs(problem, workload, 0)
    assert isinstance(inputs["bias"], torch.Tensor)
    assert isinstance(inputs["temperature"], float)
    # A worker is told a workload's scalars once, whatever tensors come later.
    assert inputs["temperature"] == make_inputs(problem, workload, 1)["temperature"]
    renamed = workload.model_copy(update={"uuid": "another"})
    assert inputs["temperature"] != make_inputs(problem, renamed, 0)["temperature"]


def test_names_choose_the_distribution(public_form: Path) -> None:
    problem = load_problem(public_form / "norm_project")
    inputs = make_inputs(problem, problem.workload("norm-0"), 0)
    assert torch.equal(inputs["norm_weight"], torch.ones(16, dtype=torch.bfloat16))  # type: ignore[arg-type]
    mask = inputs["attention_mask"]
    assert isinstance(mask, torch.Tensor)
    assert set(mask.flatten().tolist()) == {0.0, torch.finfo(torch.float32).min}


def test_a_random_packed_input_is_half_as_long_as_declared(public_form: Path) -> None:
    problem = load_problem(public_form / "packed_blob")
    workload = problem.workloads[0]
    packed = make_inputs(problem, workload, 0)["packed"]
    assert isinstance(packed, torch.Tensor)
    assert (packed.dtype, tuple(packed.shape)) == (torch.float4_e2m1fn_x2, (2, 3))
    assert unpack_float4(packed).shape == (2, 6)
    layout = input_layout(problem, workload)[0]
    assert (layout.shape, layout.nbytes) == ((2, 3), 6)


def test_a_custom_packed_input_is_as_long_as_declared(public_form: Path) -> None:
    problem = load_problem(public_form / "custom_gather")
    workload = problem.workload("gather-5")
    codes = make_inputs(problem, workload, 0)["codes"]
    assert isinstance(codes, torch.Tensor)
    assert tuple(codes.shape) == (5, 4) == input_layout(problem, workload)[3].shape


def test_an_odd_packed_size_is_refused(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    definition["axes"]["columns"]["value"] = 5
    definition["inputs"]["x"]["dtype"] = "float4_e2m1"
    problem = load_problem(write_problem(definition, workload))
    (warning,) = problem.warnings
    assert "inputs.x: a random float4_e2m1 tensor needs an even last size, not (3, 5)" in warning
    with pytest.raises(SpecError, match="needs an even last size"):
        make_inputs(problem, problem.workloads[0], 0)


def test_the_entrypoint_gets_every_axis_and_follows_the_seed(public_form: Path) -> None:
    problem = load_problem(public_form / "custom_gather")
    workload = problem.workload("gather-5")
    states = random.getstate(), torch.random.get_rng_state(), numpy.random.get_state()[1].copy()
    first, again = make_inputs(problem, workload, 3), make_inputs(problem, workload, 3)
    other = make_inputs(problem, workload, 4)
    for name in ("table", "index", "scale"):
        assert torch.equal(torch.as_tensor(first[name]), torch.as_tensor(again[name]))
        assert not torch.equal(torch.as_tensor(first[name]), torch.as_tensor(other[name]))
    assert isinstance(first["scale"], float)
    assert random.getstate() == states[0]
    assert torch.equal(torch.random.get_rng_state(), states[1])
    assert (numpy.random.get_state()[1] == states[2]).all()


def custom(definition: Any, workload: Any, body: str) -> None:
    definition["custom_inputs_entrypoint"] = "make"
    definition["reference"] += f"def make(sizes, device):\n    import torch\n    {body}\n"
    workload["inputs"]["x"] = {"type": "custom"}


def test_the_entrypoint_sees_scalars_and_axes_by_name(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    custom(
        definition,
        workload,
        "return {'x': torch.full((sizes['rows'], sizes['columns']), sizes['factor'] * sizes['double'])}",
    )
    problem = load_problem(write_problem(definition, workload))
    x = make_inputs(problem, problem.workloads[0], 0)["x"]
    assert torch.equal(x, torch.full((3, 4), 2.5 * 8))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("return sizes['nothing']", r"failed: KeyError: 'nothing' \(line 5: return sizes"),
        ("return [1]", "returned list, not a dict"),
        ("return {'z': 1}", "input 'x' is missing; it returned z"),
        ("return {'x': 'text'}", "input 'x' is str, not a tensor"),
        (
            "return {'x': torch.ones(2, dtype=torch.int32)}",
            r"is torch.int32 \[2\], declared as torch.float32 \[3, 4\]",
        ),
    ],
)
def test_a_failing_entrypoint_says_where_and_why(
    write_problem: Write, definition: Any, workload: Any, body: str, what: str
) -> None:
    custom(definition, workload, body)
    problem = load_problem(write_problem(definition, workload))
    with pytest.raises(ReferenceFailed, match=what):
        make_inputs(problem, problem.workloads[0], 0)


def test_custom_inputs_without_entrypoint_are_refused(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    workload["inputs"]["x"] = {"type": "custom"}
    problem = load_problem(write_problem(definition, workload))
    with pytest.raises(SpecError, match="names no entrypoint"):
        make_inputs(problem, problem.workloads[0], 0)


def test_scalars_may_be_given_where_a_0d_tensor_is_declared(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    definition["inputs"]["factor"]["shape"] = []
    custom(definition, workload, "return {'x': torch.ones(3, 4), 'factor': 2}")
    problem = load_problem(write_problem(definition, workload))
    assert make_inputs(problem, problem.workloads[0], 0)["factor"] == 2.5
    workload["inputs"]["factor"] = {"type": "custom"}
    problem = load_problem(write_problem(definition, workload))
    factor = make_inputs(problem, problem.workloads[0], 0)["factor"]
    assert isinstance(factor, torch.Tensor)
    assert (factor.dtype, factor.shape, factor.item()) == (torch.float32, (), 2.0)


def test_blobs_are_found_by_stripping_leading_parts(public_form: Path) -> None:
    problem = load_problem(public_form / "packed_blob")
    weight = make_inputs(problem, problem.workloads[0], 0)["weight"]
    assert torch.equal(weight, torch.arange(6, dtype=torch.float16))  # type: ignore[arg-type]


def test_blobs_are_found_under_further_roots(public_form: Path, tmp_path: Path) -> None:
    folder = tmp_path / "problem"
    shutil.copytree(public_form / "packed_blob", folder)
    shutil.move(folder / "blobs", tmp_path / "blobs")
    workload = load_problem(folder).workloads[0]
    with pytest.raises(
        SpecError, match=r"weights.safetensors' is in none of: .*FLASHINFER_TRACE_DIR"
    ):
        make_inputs(load_problem(folder), workload, 0)
    weight = make_inputs(load_problem(folder, [tmp_path]), workload, 0)["weight"]
    assert isinstance(weight, torch.Tensor) and weight.sum() == 15


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('"tensor_key": "w"', '"tensor_key": "v"', "holds no tensor 'v' for input 'weight'.*: w"),
        ("./elsewhere", "../elsewhere", "leaves its folder"),
        ("./elsewhere/blobs", "x" * 300, "is in none of"),
        ('"axes": {}', '"axes": {"n": 8}', r"'w' is torch.float16 \[6\].*torch.float16 \[8\]"),
    ],
)
def test_a_blob_that_does_not_fit_is_refused(
    public_form: Path, tmp_path: Path, old: str, new: str, what: str
) -> None:
    folder = tmp_path / "problem"
    shutil.copytree(public_form / "packed_blob", folder)
    file = folder / "workload.jsonl"
    file.write_text(file.read_text().replace(old, new))
    problem = load_problem(folder)
    with pytest.raises(SpecError, match=what):
        make_inputs(problem, problem.workloads[0], 0)


def test_a_broken_blob_is_refused(public_form: Path, tmp_path: Path) -> None:
    folder = tmp_path / "problem"
    shutil.copytree(public_form / "packed_blob", folder)
    (folder / "blobs" / "weights.safetensors").write_bytes(b"\xff" * 64)
    problem = load_problem(folder)
    with pytest.raises(SpecError, match=r"weights.safetensors: cannot be read"):
        make_inputs(problem, problem.workloads[0], 0)


def test_probabilities_of_a_sampling_operation_are_softmax_rows(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    definition["op_type"] = "sampling"
    definition["inputs"] = {"probs": definition["inputs"]["x"]}
    definition["reference"] = "def run(probs):\n    return probs\n"
    workload["inputs"] = {}
    problem = load_problem(write_problem(definition, workload))
    probs = make_inputs(problem, problem.workloads[0], 0)["probs"]
    assert isinstance(probs, torch.Tensor)
    torch.testing.assert_close(probs.sum(-1), torch.ones(3))
