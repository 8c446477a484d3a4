from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from solbench.errors import ReferenceFailed
from solbench.spec import Problem, load_problem, normalise_outputs


@pytest.fixture
def two(write_problem: Callable[..., Path], definition: Any, workload: Any) -> Problem:
    definition["outputs"]["count"] = {"shape": None, "dtype": "int32"}
    return load_problem(write_problem(definition, workload))


@pytest.fixture
def one(write_problem: Callable[..., Path], definition: Any, workload: Any) -> Problem:
    return load_problem(write_problem(definition, workload))


Y = torch.arange(3.0)


@pytest.mark.parametrize(
    "returned",
    [(Y, 4), [Y, torch.tensor(4, dtype=torch.int32)], {"count": 4, "y": Y, "spare": None}],
)
def test_outputs_come_by_name_in_declared_order(two: Problem, returned: Any) -> None:
    outputs = normalise_outputs(two, returned, two.workloads[0])
    assert list(outputs) == ["y", "count"]
    assert torch.equal(outputs["y"], Y)
    assert outputs["count"].dtype == torch.int32 and outputs["count"].item() == 4


@pytest.mark.parametrize("returned", [Y, (Y,), [Y], {"y": Y}])
def test_a_single_output_may_stand_alone(one: Problem, returned: Any) -> None:
    assert torch.equal(normalise_outputs(one, returned, one.workloads[0])["y"], Y)


def test_a_scalar_becomes_a_0d_tensor_of_the_declared_dtype(one: Problem) -> None:
    y = normalise_outputs(one, True, one.workloads[0])["y"]
    assert (y.dtype, y.shape, y.item()) == (torch.float32, (), 1.0)


def test_shape_and_dtype_of_the_reference_count_not_the_declared_ones(one: Problem) -> None:
    odd = torch.zeros(7, dtype=torch.float64)
    assert normalise_outputs(one, odd, one.workloads[0])["y"].dtype == torch.float64


def test_gradients_are_cut_off(one: Problem) -> None:
    y = torch.ones(2, requires_grad=True) * 2
    assert not normalise_outputs(one, y, one.workloads[0])["y"].requires_grad


@pytest.mark.parametrize(
    ("returned", "what"),
    [
        (Y, "returned one Tensor, but 2 outputs are declared: y, count"),
        ((Y, Y, Y), "returned 3 values, but 2 outputs"),
        (None, "returned one NoneType, but 2"),
        ({"y": Y}, "returned a dict without count; it has y"),
        ((Y, "four"), "output 'count' is str, not a tensor or a number"),
        ((None, 4), "output 'y' is NoneType"),
    ],
)
def test_anything_else_says_what_came(two: Problem, returned: Any, what: str) -> None:
    with pytest.raises(ReferenceFailed, match=rf"scale_rows \(workload w0\).*{what}"):
        normalise_outputs(two, returned, two.workloads[0])
