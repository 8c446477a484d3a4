"""Demanded reads against an independent route: the input elements that gradients really reach.

Random chains of movements and products are run for real; an input element is needed if and only if some output
element has a derivative with respect to it (weights are positive, so that nothing cancels).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solbench.bound import analyse, capture, function_program

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _columns(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(-1, x.shape[-1])


def _index(x: torch.Tensor) -> torch.Tensor:
    count = x.shape[0]
    return torch.tensor([0, count // 2, count - 1, 0])


def _put(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    out = x.clone()
    out[..., : out.shape[-1] // 2] = 0
    return out


def _product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    flat = _columns(x)
    width = min(flat.shape[1], w.shape[0])
    return flat[:, :width] @ w[:width]


def _odd_scatter(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    flat = _columns(x)
    rows = torch.tensor([0, flat.shape[0] - 1])
    return flat.index_copy(0, rows, torch.zeros(2, flat.shape[1]))


STEPS: dict[str, Step] = {
    "transpose": lambda x, w: x.transpose(0, -1),
    "flatten": lambda x, w: x.reshape(-1),
    "fold": lambda x, w: x.reshape(2, -1) if x.numel() % 2 == 0 else x,
    "unfold_rows": lambda x, w: x.reshape(-1, 3) if x.numel() % 3 == 0 else x,
    "first_half": lambda x, w: x[: max(1, x.shape[0] // 2)],
    "every_second": lambda x, w: x[..., ::2],
    "last": lambda x, w: x[-1:] * 2,
    "drop_first": lambda x, w: x[..., 1:] if x.shape[-1] > 1 else x,
    "flip": lambda x, w: x.flip(0),
    "roll": lambda x, w: x.roll(1, -1),
    "repeat": lambda x, w: _columns(x).repeat(2, 1),
    "pad": lambda x, w: F.pad(x, (1, 2)),
    "concatenate": lambda x, w: torch.cat([x, x * 3], dim=0),
    "stack": lambda x, w: torch.stack([x, x + 1], dim=-1),
    "sum_last": lambda x, w: x.sum(-1) if x.dim() > 1 else x,
    "mean_first": lambda x, w: x.mean(0, keepdim=True),
    "softplus": lambda x, w: F.softplus(x),
    "gather_rows": lambda x, w: x[_index(x)],
    "lower": lambda x, w: _columns(x).tril(),
    "diagonal": lambda x, w: _columns(x).diagonal(),
    "zero_half": _put,
    "overwrite_rows": _odd_scatter,
    "product": _product,
    "windows": lambda x, w: x.unfold(-1, 2, 2) if x.shape[-1] > 1 else x,
    "cumulative": lambda x, w: x.cumsum(-1),
}


def _gradient_count(function: Callable[..., Any], inputs: list[torch.Tensor]) -> int:
    """Input elements that some output element depends on."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = function(*leaves)
    if not out.requires_grad:
        return 0
    weights = torch.rand_like(out) + 0.5
    grads = torch.autograd.grad(out, leaves, weights, allow_unused=True)
    return sum(int((g != 0).sum()) for g in grads if g is not None)


@settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=7),
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3),
)
def test_reads_are_the_elements_that_gradients_reach(names: list[str], shape: list[int]) -> None:
    torch.manual_seed(0)
    inputs = [torch.rand(shape) + 0.5, torch.rand(4, 5) + 0.5]

    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        for name in names:
            x = STEPS[name](x, w)
        return x * 1.5

    graph, rung = capture(function_program(program, inputs))
    demand = analyse(graph, rung)
    assert demand.unknown_ops == ()
    reached = 4 * _gradient_count(program, inputs)
    if "windows" in names:  # masks across windows are made smaller, never larger
        assert demand.dram_read_bytes <= reached
    else:
        assert demand.dram_read_bytes == reached


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 2])
def test_a_convolution_reads_what_its_windows_touch(stride: int, padding: int) -> None:
    torch.manual_seed(0)
    inputs = [torch.rand(1, 2, 9, 7) + 0.5, torch.rand(3, 2, 3, 2) + 0.5]

    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w, stride=stride, padding=padding)[:, :, :2]

    graph, rung = capture(function_program(program, inputs))
    assert analyse(graph, rung).dram_read_bytes == 4 * _gradient_count(program, inputs)
