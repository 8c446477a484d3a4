"""Programs that differentiate or map functions themselves, and layers that learn their sizes from a call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import capture, derive_bound, function_program, module_program
from solbench.bound.capture._running import run_program
from solbench.errors import CaptureError

CASES: dict[str, tuple[Callable[..., Any], int]] = {
    # x is 2 by 4, w 4 by 4: a product takes 32 multiply-adds
    "value_and_tangent": (
        lambda x, v, w: torch.func.jvp(lambda y: torch.tanh(y @ w), (x,), (v,)),
        64,
    ),
    # what is linear is its own derivative: the value is not needed
    "tangent_of_a_linear_map": (lambda x, v, w: torch.func.jvp(lambda y: y @ w, (x,), (v,))[1], 32),
    "linearised": (lambda x, v, w: torch.func.linearize(lambda y: torch.tanh(y @ w), x)[1](v), 64),
    "second_tangent": (
        lambda x, v, w: torch.func.jvp(
            lambda y: torch.func.jvp(lambda z: torch.tanh(z @ w), (y,), (v,))[1], (x,), (v,)
        )[1],
        64,
    ),
    "pulled_back": (lambda x, v, w: torch.func.vjp(lambda y: torch.tanh(y @ w), x)[1](v), 64),
    "gradient": (lambda x, v, w: torch.func.grad(lambda y: torch.tanh(y @ w).sum())(x), 64),
    "mapped": (lambda x, v, w: torch.vmap(lambda r: torch.relu(r @ w))(x), 32),
    "mapped_in_chunks": (lambda x, v, w: torch.vmap(lambda r: r @ w, chunk_size=1)(x), 32),
    # r's outer product with the gradient has no sum
    "gradient_of_each_example": (
        lambda x, v, w: torch.vmap(
            torch.func.grad(lambda u, r: torch.tanh(r @ u).sum()), (None, 0)
        )(w, x),
        32,
    ),
    "numbers_mapped_twice": (lambda x, v, w: torch.vmap(torch.vmap(lambda a: a * 2))(x), 0),
}


def inputs() -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(shape, generator=generator) for shape in ((2, 4), (2, 4), (4, 4)))


@pytest.mark.parametrize("name", CASES)
def test_transforms_of_functions_are_captured(name: str) -> None:
    function, macs = CASES[name]
    (bound,) = derive_bound(function_program(function, inputs()), "h200", verify=True)
    assert (bound.error, bound.unknown_ops) == (None, ())
    assert bound.verified
    assert bound.matrix_flops == ({"fp32": 2 * macs} if macs else {})


def test_a_tangent_goes_through_attention() -> None:
    def whole(x: Any, v: Any) -> Any:
        return torch.func.jvp(lambda y: F.scaled_dot_product_attention(y, y, y), (x,), (v,))[1]

    def by_hand(x: Any, v: Any) -> Any:
        return torch.func.jvp(lambda y: torch.softmax(y @ y.mT / 2, -1) @ y, (x,), (v,))[1]

    x, v, _ = (tensor[None, None] for tensor in inputs())
    outputs = dict(run_program(function_program(whole, (x, v))).outputs)
    torch.testing.assert_close(outputs["output"], by_hand(x, v))
    (bound,) = derive_bound(function_program(whole, (x, v)), "h200", verify=True)
    assert bound.verified
    assert bound.matrix_flops != {}


def test_shapes_that_are_compared_demand_no_values() -> None:
    def program(x: Any, y: Any) -> Any:
        return torch.ops.aten.is_same_size(x @ x, y) and y * 2

    (bound,) = derive_bound(
        function_program(program, (torch.randn(4, 4), torch.randn(4, 4))), "h200"
    )
    assert bound.matrix_flops == {}
    assert bound.dram_read_bytes == 4 * 4 * 4


LAZY = """\
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.LazyConv2d(8, 3)
        self.n = nn.LazyBatchNorm2d()
        self.b = nn.LazyLinear(10)

    def forward(self, x):
        return RESULT

def get_inputs():
    return [torch.randn(2, 3, 8, 8)]
"""


def lazy_module(folder: Path, result: str) -> Path:
    path = folder / "lazy.py"
    path.write_text(LAZY.replace("RESULT", result))
    return path


def test_lazy_layers_get_their_sizes(tmp_path: Path) -> None:
    path = lazy_module(tmp_path, "self.b(torch.relu(self.n(self.a(x))).flatten(1))")
    (bound,) = derive_bound(module_program(path), "h200", verify=True)
    assert bound.error is None and bound.verified
    # 2 images of 6 by 6 positions, 8 channels of 27 taps; then 288 to 10
    assert bound.matrix_flops == {"fp32": 2 * (2 * 36 * 8 * 27 + 2 * 288 * 10)}
    # x, two layers with biases, the norm's factor, offset, two statistics, and the count of its calls
    floats = 384 + 8 * 27 + 8 + 10 * 288 + 10 + 4 * 8
    assert bound.dram_read_bytes == 4 * floats + 8


def test_a_lazy_layer_that_is_not_called_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = lazy_module(tmp_path, "self.a(x)")
    with pytest.raises(CaptureError, match=r"lazy layers n, b are not known.*give them sizes"):
        capture(module_program(path))


def test_a_first_call_that_fails_names_its_line(tmp_path: Path) -> None:
    path = lazy_module(tmp_path, "self.b(self.a(x)).reshape(7)")
    with pytest.raises(CaptureError, match="line 12"):
        capture(module_program(path))
