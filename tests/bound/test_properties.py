"""Laws: a bound never grows when demand shrinks, and programs that mean the same cost the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from solbench.bound import Demand, analyse, capture, function_program

DemandOf = Callable[..., Demand]


def t(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def figures(demand: Demand) -> tuple[dict[str, int], int, int]:
    return demand.matrix_flops, demand.dram_read_bytes, demand.dram_write_bytes


def block(x: Any, w: Any, v: Any) -> tuple[Any, ...]:
    hidden = torch.relu(x @ w)
    scores = torch.softmax(hidden @ hidden.transpose(-1, -2), -1)
    return hidden, scores @ v, hidden.sum(-1)


@pytest.mark.parametrize("dropped", [0, 1, 2])
def test_dropping_an_output_never_adds_work(demand_of: DemandOf, dropped: int) -> None:
    inputs = (t(2, 6, 8), t(8, 16), t(2, 6, 4))
    whole = demand_of(block, *inputs)
    fewer = demand_of(lambda *a: tuple(o for i, o in enumerate(block(*a)) if i != dropped), *inputs)
    assert sum(fewer.matrix_flops.values()) <= sum(whole.matrix_flops.values())
    assert fewer.dram_read_bytes <= whole.dram_read_bytes
    assert fewer.dram_write_bytes < whole.dram_write_bytes


def _smaller(part: Demand, whole: Demand) -> bool:
    return (
        sum(part.matrix_flops.values()) <= sum(whole.matrix_flops.values())
        and part.dram_read_bytes <= whole.dram_read_bytes
        and part.dram_write_bytes <= whole.dram_write_bytes
    )


SLICED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "rows of the activations": (
        lambda x, w, v: block(x, w, v)[1], lambda x, w, v: block(x[:, :4], w, v[:, :4])[1],
    ),
    "columns of the weights": (
        lambda x, w, v: block(x, w, v)[0], lambda x, w, v: block(x, w[:, ::2], v)[0],
    ),
    "one of the batch": (
        lambda x, w, v: block(x, w, v)[1], lambda x, w, v: block(x[1:], w, v[1:])[1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SLICED)
def test_slicing_an_input_never_adds_work(demand_of: DemandOf, name: str) -> None:
    inputs = (t(2, 6, 8), t(8, 16), t(2, 6, 4))
    whole, part = (demand_of(program, *inputs) for program in SLICED[name])
    assert _smaller(part, whole)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=5, max_size=5),
    st.integers(0, 4),
    st.integers(0, 5),
)
def test_masking_more_never_adds_work(kept: list[list[bool]], row: int, column: int) -> None:
    def program(mask: torch.Tensor) -> Callable[..., Any]:
        return lambda q, k, v: torch.softmax((q @ k.mT).masked_fill(~mask, float("-inf")), -1) @ v

    more = torch.tensor(kept)
    fewer = more.clone()
    fewer[row, column] = False
    demands = []
    for mask in (more, fewer):
        graph, rung = capture(function_program(program(mask), (t(5, 8), t(6, 8), t(6, 4))))
        demands.append(analyse(graph, rung))
    assert _smaller(demands[1], demands[0])


def test_two_derivations_of_drawn_indices_agree(demand_of: DemandOf) -> None:
    def program(table: Any) -> Any:
        return table[torch.randint(0, 100, (8,), generator=torch.Generator().manual_seed(3))]

    one, other = (demand_of(program, t(100, 4)) for _ in range(2))
    assert figures(one) == figures(other)


@pytest.mark.parametrize("rows", [1, 3, 6])
def test_slicing_the_output_never_adds_work(demand_of: DemandOf, rows: int) -> None:
    inputs = (t(2, 6, 8), t(8, 16), t(2, 6, 4))
    whole = demand_of(lambda *a: block(*a)[1], *inputs)
    part = demand_of(lambda *a: block(*a)[1][:, :rows], *inputs)
    assert sum(part.matrix_flops.values()) <= sum(whole.matrix_flops.values())
    assert part.dram_read_bytes <= whole.dram_read_bytes


EQUIVALENTS: list[tuple[str, Callable[..., Any], Callable[..., Any], tuple[torch.Tensor, ...]]] = [
    ("linear is a product and a sum", F.linear, lambda x, w, b: x @ w.T + b,
     (t(2, 4, 8), t(16, 8), t(16))),
    ("einsum is a batched product", lambda a, b: torch.einsum("bij,bjk->bik", a, b), torch.bmm,
     (t(3, 4, 5), t(3, 5, 6))),
    ("attention is its expansion",
     lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
     lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / 4, -1) @ v,
     (t(2, 3, 5, 16), t(2, 3, 7, 16), t(2, 3, 7, 16))),
    ("a loop over the batch is a batched product",
     lambda a, b: torch.stack([a[i] @ b[i] for i in range(3)]), torch.bmm,
     (t(3, 4, 5), t(3, 5, 6))),
    ("column blocks are one product",
     lambda a, b: torch.cat([a @ b[:, :3], a @ b[:, 3:]], dim=1), lambda a, b: a @ b,
     (t(4, 5), t(5, 7))),
    ("addmm is a product and a sum", torch.addmm, lambda c, a, b: c + a @ b,
     (t(4, 6), t(4, 5), t(5, 6))),
    ("a pointwise convolution is a product", F.conv1d,
     lambda x, w: torch.einsum("bcl,oc->bol", x, w[:, :, 0]), (t(2, 4, 9), t(6, 4, 1))),
    ("a grouped convolution is one for each group",
     lambda x, w: F.conv1d(x, w, groups=2),
     lambda x, w: torch.cat([F.conv1d(x[:, :2], w[:3]), F.conv1d(x[:, 2:], w[3:])], dim=1),
     (t(1, 4, 9), t(6, 2, 3))),
    ("a written-out mean is a mean", lambda x: x.sum(-1) / 8, lambda x: x.mean(-1), (t(4, 8),)),
    ("order of a cast and a gather does not matter",
     lambda x: x.double()[2:4], lambda x: x[2:4].double(), (t(8, 4),)),
    ("a view before a product is a view after it",
     lambda x, w: x.reshape(-1, 8) @ w, lambda x, w: (x @ w).reshape(-1, 6),
     (t(2, 4, 8), t(8, 6))),
    ("a permutation of the rows before or after", lambda x, w: (x.transpose(0, 1) @ w),
     lambda x, w: (x @ w).transpose(0, 1).contiguous(), (t(2, 4, 8), t(8, 6))),
    ("two views in either order",
     lambda x: x.view(4, 2, 3, 8).transpose(1, 2).reshape(12, 16) * 2,
     lambda x: x.view(4, 6, 8).view(4, 2, 3, 8).permute(0, 2, 1, 3).flatten(2).flatten(0, 1) * 2,
     (t(24, 8),)),
    ("causal attention is its expansion",
     lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
     lambda q, k, v: torch.softmax(
         (q @ k.transpose(-1, -2)).masked_fill(
             torch.arange(7)[None] > torch.arange(7)[:, None], float("-inf")), -1) @ v,
     (t(2, 3, 7, 16), t(2, 3, 7, 16), t(2, 3, 7, 16))),
    ("a loop over heads is a batched product",
     lambda q, k: torch.stack([q[:, h] @ k[:, h].mT for h in range(3)], 1),
     lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k), (t(2, 3, 5, 8), t(2, 3, 7, 8))),
    ("a matmul of many dimensions is an einsum", torch.matmul,
     lambda a, b: torch.einsum("abij,bjk->abik", a, b), (t(2, 3, 4, 5), t(3, 5, 6))),
    ("steps of a sum are the sum", lambda x: x[:2].sum() + x[2:].sum(), lambda x: x.sum(), (t(4, 8),)),
    ("repeated key heads are grouped ones",
     lambda q, k, v: F.scaled_dot_product_attention(
         q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)),
     lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
     (t(1, 4, 5, 8), t(1, 2, 5, 8), t(1, 2, 5, 8))),
    ("terms with one factor are one product", lambda x, a, b: x @ a + x @ b,
     lambda x, a, b: x @ (a + b), (t(4, 8), t(8, 6), t(8, 6))),
    ("a stack of one tensor is its expansion", lambda x, w: torch.stack([x, x, x]) @ w,
     lambda x, w: x.expand(3, 4, 8) @ w, (t(4, 8), t(8, 6))),
    ("a product and its transpose", lambda a, b: (a @ b, b.T @ a.T),
     lambda a, b: ((y := a @ b), y.T.contiguous()),
     (t(4, 5), t(5, 6))),
    ("keys of a latent are absorbed or not",
     lambda q, c, w: torch.softmax(q[:, None] @ (c @ w).view(9, 2, 4).permute(1, 2, 0), -1),
     lambda q, c, w: torch.softmax(
         torch.einsum("hd,rhd->hr", q, w.view(6, 2, 4))[:, None] @ c.T, -1),
     (t(2, 4), t(9, 6), t(6, 8))),
    ("columns times weights are a padded convolution",
     lambda x, w: (w.flatten(1) @ F.unfold(x, 3, padding=1)).view(2, 6, 8, 8),
     lambda x, w: F.conv2d(x, w, padding=1), (t(2, 4, 8, 8), t(6, 4, 3, 3))),
    ("two masks are their conjunction",
     lambda q, k: torch.softmax(torch.where(torch.ones(5, 5, dtype=torch.bool).triu(-1), torch.where(
         torch.ones(5, 5, dtype=torch.bool).tril(), q @ k.T, float("-inf")), float("-inf")), -1),
     lambda q, k: torch.softmax(torch.where(
         torch.ones(5, 5, dtype=torch.bool).tril().triu(-1), q @ k.T, float("-inf")), -1),
     (t(5, 8), t(5, 8))),
    ("windows times weights are a convolution",
     lambda x, w: torch.einsum("bclk,ock->bol", x.unfold(2, 3, 1), w),
     F.conv1d, (t(2, 4, 9), t(6, 4, 3))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "inputs"),
    [e[1:] for e in EQUIVALENTS],
    ids=[e[0].replace(" ", "_") for e in EQUIVALENTS],
)
def test_programs_that_mean_the_same_cost_the_same(
    demand_of: DemandOf,
    one: Callable[..., Any],
    other: Callable[..., Any],
    inputs: tuple[torch.Tensor, ...],
) -> None:
    assert figures(demand_of(one, *inputs)) == figures(demand_of(other, *inputs))


def test_a_module_convolution_costs_what_the_functional_one_costs(demand_of: DemandOf) -> None:
    module = nn.Conv2d(4, 8, 3, groups=2)
    as_module = demand_of(module, t(2, 4, 8, 8))
    functional = demand_of(
        lambda x, w, b: F.conv2d(x, w, b, groups=2), t(2, 4, 8, 8), t(8, 2, 3, 3), t(8)
    )
    assert figures(as_module) == figures(functional)


def test_every_layer_of_a_recurrent_net_is_counted(demand_of: DemandOf) -> None:
    # layer 0: input 8, layer 1: input 16; 4 gates of 16; 5 steps, batch 2
    demand = demand_of(nn.LSTM(8, 16, num_layers=2), t(5, 2, 8))
    # the first state is zero: no product with it, and its forget gate (16 of 64 rows) decides nothing
    first = (5 * 64 - 16) * 2 * 8 + 4 * 2 * 64 * 16
    second = (5 * 64 - 16) * 2 * 16 + 4 * 2 * 64 * 16
    assert demand.matrix_flops == {"fp32": 2 * (first + second)}
    weights = 64 * (8 + 16 + 2) + 64 * (16 + 16 + 2)
    assert demand.dram_read_bytes == 4 * (5 * 2 * 8 + weights)


def test_attention_and_its_gradients_share_the_scores(demand_of: DemandOf) -> None:
    def program(q: Any, k: Any, v: Any, g: Any) -> Any:
        for x in (q, k, v):
            x.requires_grad_()
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return torch.autograd.grad(out, (q, k, v), g)

    demand = demand_of(program, *(t(1, 2, 8, 16) for _ in range(4)))
    # scores, dP, dV, dQ, dK over 36 pairs, 2 heads, 16 wide
    assert demand.matrix_flops == {"fp32": 5 * 2 * 2 * 36 * 16}


def test_a_causal_mask_too_large_to_hold_still_counts_exactly(demand_of: DemandOf) -> None:
    inputs = tuple(t(1, 1, n, 64, dtype=torch.bfloat16) for n in (4096, 8192, 8192))
    demand = demand_of(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *inputs
    )
    pairs = 4096 * 4097 // 2
    assert demand.matrix_flops == {"bf16": 2 * 2 * pairs * 64}
    assert demand.dram_read_bytes == 3 * 4096 * 64 * 2  # keys past the last query are not read


def test_convolution_gradients(demand_of: DemandOf) -> None:
    def program(x: Any, w: Any, g: Any) -> Any:
        x.requires_grad_()
        w.requires_grad_()
        return torch.autograd.grad(F.conv1d(x, w), (x, w), g)

    # input 2x10, kernel 3x2x3, output 3x8: both gradients have one product a (position, tap)
    demand = demand_of(program, t(1, 2, 10), t(3, 2, 3), t(1, 3, 8))
    assert demand.matrix_flops == {"fp32": 2 * 2 * (3 * 2 * 3 * 8)}


def _put(x: torch.Tensor) -> torch.Tensor:
    """An op without a rule."""
    return x.put(torch.tensor([0]), x[0, :1])


def test_an_op_without_a_rule_is_listed_and_never_free() -> None:
    graph, rung = capture(function_program(_put, (t(4, 4),)))
    demand = analyse(graph, rung)
    assert demand.unknown_ops == ("aten.put.default",)
    assert not demand.complete


def test_an_unknown_op_that_nothing_needs_does_no_harm() -> None:
    graph, rung = capture(function_program(lambda x: (_put(x), x + 1)[1], (t(4, 4),)))
    assert analyse(graph, rung).complete


def test_a_narrow_operand_of_an_fp32_product_is_noted(demand_of: DemandOf) -> None:
    demand = demand_of(lambda a, b: a @ b.float(), t(4, 8), t(8, 4, dtype=torch.bfloat16))
    assert demand.matrix_flops == {"fp32": 256}
    assert demand.mixed_flops == {"bf16": 256}
