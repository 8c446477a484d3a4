"""Products in another order than the program's: through heads, slices, concatenations, factors and sums.

FLOPs are 2 a multiply-add. S tokens, a latent of R, H heads of D.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand
from solbench.bound._network_order import fewest_multiply_adds

S, R, H, D, E = 256, 32, 4, 8, 2
ABSORBED = H * D * R + H * S * R
"""A query times the weights of its head, then times every latent."""


def t(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


def heads(x: Any) -> Any:
    return x.view(S, H, D).transpose(0, 1)


def latent_scores(q: Any, c: Any, w: Any) -> Any:
    return torch.softmax(q.transpose(0, 1) @ heads(c @ w).mT, -1)


def latent_attention(q: Any, c: Any, wk: Any, wv: Any) -> Any:
    return torch.softmax(q.transpose(0, 1) @ heads(c @ wk).mT, -1) @ heads(c @ wv)


def latent_fused(q: Any, c: Any, wk: Any, wv: Any) -> Any:
    k, v = ((c @ w).view(1, S, H, D).transpose(1, 2) for w in (wk, wv))
    return F.scaled_dot_product_attention(q, k, v)


def latent_split(q: Any, c: Any, w: Any) -> Any:
    k, v = F.linear(c, w).view(1, S, H, 2 * D).chunk(2, -1)
    return torch.softmax(q @ k.permute(0, 2, 3, 1), -1) @ v.transpose(1, 2)


def latent_with_positions(q: Any, qr: Any, c: Any, kr: Any, wk: Any, wv: Any) -> Any:
    k = torch.cat([heads(c @ wk), kr[None].expand(H, S, E)], -1)
    query = torch.cat([q, qr], -1)[:, None]
    return torch.softmax(query @ k.mT, -1) @ heads(c @ wv)


def latent_assembled_in_place(q: Any, c: Any, kr: Any, wk: Any) -> Any:
    k = torch.empty(H, S, D + E)
    k[..., :D] = heads(c @ wk)
    k[..., D:] = kr
    return torch.softmax(q @ k.mT, -1)


def grouped_heads(q: Any, c: Any, w: Any) -> Any:
    k = (c @ w).view(S, 2, D).transpose(0, 1).repeat_interleave(2, 0)
    return torch.softmax(q @ k.mT, -1)


CASES: list[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...], int]] = [
    ("keys of a latent, one query", latent_scores, (t(1, H, D), t(S, R), t(R, H * D)), ABSORBED),
    ("keys and values of a latent", latent_attention,
     (t(1, H, D), t(S, R), t(R, H * D), t(R, H * D)), 2 * ABSORBED),
    ("attention kept whole", latent_fused,
     (t(1, H, 1, D), t(S, R), t(R, H * D), t(R, H * D)), 2 * ABSORBED),
    ("keys and values of one projection", latent_split,
     (t(1, H, 1, D), t(1, S, R), t(H * 2 * D, R)), 2 * ABSORBED),
    ("columns with positions beside them", latent_with_positions,
     (t(H, D), t(H, E), t(S, R), t(S, E), t(R, H * D), t(R, H * D)), 2 * ABSORBED + H * S * E),
    ("keys assembled in place", latent_assembled_in_place,
     (t(H, 1, D + E), t(S, R), t(S, E), t(R, H * D)), ABSORBED + H * S * E),
    # two key heads for four query heads: each query goes through the weights of its own key head
    ("grouped heads", grouped_heads, (t(H, 1, D), t(S, R), t(R, 2 * D)), ABSORBED),
    # with as many queries as keys the keys are computed first: S·R·H·D + H·S·S·D < H·S·D·R + H·S·S·R
    ("many queries keep the order", lambda q, c, w: torch.softmax(q @ heads(c @ w).mT, -1),
     (t(H, S, D), t(S, R), t(R, H * D)), S * R * H * D + H * S * S * D),
    ("a nonlinear step pins the order", lambda q, c, w: q @ heads(torch.relu(c @ w)).mT,
     (t(H, 1, D), t(S, R), t(R, H * D)), S * R * H * D + H * S * D),
    ("keys that are returned too", lambda q, c, w: (k := c @ w, q @ heads(k).mT),
     (t(H, 1, D), t(S, R), t(R, H * D)), S * R * H * D + H * S * D),
    # b @ x first: 8·4, then scaled by a
    ("an outer product times a matrix", lambda a, b, x: torch.outer(a, b) @ x,
     (t(16), t(8), t(8, 4)), 8 * 4),
    ("an outer product by broadcasting", lambda a, b, x: (a[:, None] * b[None]) @ x,
     (t(16), t(8), t(8, 4)), 8 * 4),
    # a column of x is a 2x3 matrix X: A X Bᵀ takes 2·3·3 + 2·2·3
    ("a Kronecker product times a matrix", lambda a, b, x: torch.kron(a, b) @ x,
     (t(2, 2), t(3, 3), t(6, 4)), 4 * (18 + 12)),
    # the weighted sum of 3 matrices, then one product
    ("a weighted sum of products",
     lambda x, w, g: (g[:, None, None] * torch.einsum("td,edf->etf", x, w)).sum(0),
     (t(4, 8), t(3, 8, 16), t(3)), 3 * 8 * 16 + 4 * 8 * 16),
    ("pooling with weights before a projection", lambda x, w, p: (p[:, None] * (x @ w)).sum(0),
     (t(64, 32), t(32, 16), t(64)), 64 * 32 + 32 * 16),
    # 4 rows of weights over 64 tokens: pooled per head, then projected per head
    ("values projected after pooling",
     lambda a, x, w: torch.einsum("hqk,khd->qhd", a, (x @ w).view(64, 4, 8)),
     (t(4, 2, 64), t(64, 32), t(32, 32)), 4 * 2 * 64 * 32 + 4 * 2 * 32 * 8),
    # what is added is multiplied as well: x @ w costs 8·64·64, so adding a @ b to w first stays best
    ("a low-rank change of the weights", lambda x, w, a, b: x @ (w + a @ b),
     (t(64, 8), t(8, 64), t(8, 2), t(2, 64)), 64 * 8 * 64 + 8 * 2 * 64),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "inputs", "macs"),
    [c[1:] for c in CASES],
    ids=[c[0].replace(" ", "_") for c in CASES],
)
def test_the_cheapest_order_counts(
    demand_of: Callable[..., Demand],
    program: Callable[..., Any],
    inputs: tuple[torch.Tensor, ...],
    macs: int,
) -> None:
    assert demand_of(program, *inputs).matrix_flops == {"fp32": 2 * macs}


def test_the_order_of_a_chain_is_that_of_the_textbook() -> None:
    # 10x30, 30x5, 5x60: (first two) 1500 + 3000
    sizes = {0: 10, 1: 30, 2: 5, 3: 60}

    def count(atoms: frozenset[int]) -> int:
        total = 1
        for atom in atoms:
            total *= sizes[atom]
        return total

    factors = [frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3})]
    assert fewest_multiply_adds(factors, frozenset({0, 3}), count) == 4500


def test_a_long_run_of_factors_and_terms_is_analysed(demand_of: Callable[..., Demand]) -> None:
    def program(x: Any, w: Any) -> Any:
        h = x @ w
        for step in range(400):
            h = h * 0.99 + step
        total = h @ w
        for _ in range(400):
            total = total + x
        return total

    # two products of 4·8·8; too far apart to be taken in another order
    assert demand_of(program, t(4, 8), t(8, 8)).matrix_flops == {"fp32": 2 * 2 * 4 * 64}
