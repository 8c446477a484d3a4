"""Numbers that a program rounds and limits are narrow, whatever the dtype says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand, capture, function_program
from solbench.bound._verify import verify_graph

DemandOf = Callable[..., Demand]


def m(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def quantised_by_absmax(x: Any, w: Any) -> Any:
    xs, ws = x.abs().amax(-1, keepdim=True) / 127, w.abs().amax(-1, keepdim=True) / 127
    return ((x / xs).round().clamp(-128, 127) * xs) @ (
        torch.clamp(w / ws, -127, 127).round() * ws
    ).T


def bit_linear(x: Any, w: Any) -> Any:
    s = 127.0 / x.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    g = 1.0 / w.abs().mean().clamp(min=1e-5)
    rounded = (x * s).round().clamp(-128, 127) / s
    ternary = (w * g).round().clamp(-1, 1) / g
    return F.linear(x + (rounded - x).detach(), w + (ternary - w).detach())


def through_an_integer_dtype(x: Any, w: Any) -> Any:
    return (x * 12).to(torch.int8).float() @ (w * 12).round().clamp(-8, 7).T


def fake_quantised(x: Any, w: Any) -> Any:
    zeros = torch.zeros(6, dtype=torch.int32)
    w = torch.fake_quantize_per_channel_affine(w, torch.full((6,), 0.1), zeros, 0, -128, 127)
    return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127) @ w.T


@pytest.mark.parametrize(
    "function", [quantised_by_absmax, bit_linear, through_an_integer_dtype, fake_quantised]
)
def test_rounded_and_clamped_floats_multiply_as_int8(function: Any, demand_of: DemandOf) -> None:
    # 4·6 sums of 8 products
    assert demand_of(function, m(4, 8), m(6, 8)).matrix_flops == {"int8": 2 * 4 * 6 * 8}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: torch.floor(x) @ w.T,  # whole, without a limit
        lambda x, w: x.clamp(-8, 7) @ w.round().clamp(-8, 7).T,  # limited, not whole
        lambda x, w: x.round().clamp(-0.5, 7) @ w.round().clamp(-8, 7).T,  # the limit is not whole
        lambda x, w: (x.round().clamp(-8, 7) + 0.5 * x) @ w.round().clamp(-8, 7).T,
    ],
)
def test_other_floats_stay_wide(function: Any, demand_of: DemandOf) -> None:
    assert demand_of(function, m(4, 8), m(6, 8)).matrix_flops == {"fp32": 2 * 4 * 6 * 8}


def test_signs_are_a_class_that_every_unit_for_integers_or_small_floats_holds(
    demand_of: DemandOf,
) -> None:
    x, w = m(4, 8), m(6, 8)
    assert set(demand_of(lambda x, w: x.sign() @ w.sign().T, x, w).matrix_flops) == {"sign"}
    whole = demand_of(lambda x, w: x.sign() @ w.round().clamp(-9, 9).T, x, w)
    assert set(whole.matrix_flops) == {"int8"}


def test_a_zero_point_is_multiplied_apart(demand_of: DemandOf) -> None:
    # (q - z) · w = q · w - z · sum(w), where z is the same for the whole sum
    def asymmetric(x: Any, w: Any, s: Any, z: Any) -> Any:
        return ((x.float() - z) * s) @ w.float().T

    x = torch.randint(0, 255, (4, 32), dtype=torch.uint8)
    w = torch.randint(-9, 9, (6, 32), dtype=torch.int8)
    flops = 2 * 4 * 6 * 32
    by_row = demand_of(asymmetric, x, w, m(4, 1), m(4, 1))
    assert by_row.matrix_flops == {"int8": flops}
    along_the_sum = demand_of(asymmetric, x, w, m(4, 1), m(32))
    assert along_the_sum.matrix_flops == {"fp32": flops}


def test_a_call_that_refuses_float64_is_replayed_in_its_own_format() -> None:
    program = function_program(fake_quantised, (torch.randn(4, 8), torch.randn(6, 8)))
    graph, _ = capture(program)
    assert verify_graph(program, graph).not_replayed == ""
