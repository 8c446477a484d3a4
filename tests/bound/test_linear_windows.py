"""Products before and after what is linear and reads through windows: pooling, resampling, padding, index sums.

A kernel may pool before it multiplies, multiply weights by weights, or multiply before it resamples. FLOPs are
2 a multiply-add; expected numbers are multiply-adds. N images of C channels and 8 by 8 positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand

N, C, D, S, M, B = 2, 8, 16, 64, 64, 4
"""Images, channels in and out, positions, a wide middle and a narrow end."""
PAIRS = 3 * 8 - 2
"""(position, tap) pairs of a padded convolution of 3 over 8 positions: both ends lose one."""


def t(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


def pooled(x: Any, w: Any) -> Any:
    return F.avg_pool2d(F.conv2d(x, w), 2)


def normed(x: Any, w: Any, b: Any, m: Any) -> Any:
    return F.avg_pool2d(F.batch_norm(F.conv2d(x, w, b), m, m, b, b), 2)


def twice_pooled(x: Any, w: Any) -> Any:
    h = F.conv2d(x, w)
    return F.avg_pool2d(h, 2), F.avg_pool2d(h, 4)


def summed_by_row(x: Any, w: Any, i: Any) -> Any:
    return torch.zeros(2, 32).index_add(0, i, x @ w)


def scattered(x: Any, w: Any, i: Any) -> Any:
    return torch.zeros(2, 32).scatter_add(0, i[:, None].expand(-1, 32), x @ w)


def two_layers(x: Any, w: Any, v: Any, s: Any, i: Any) -> Any:
    h = torch.zeros(8, 32).index_add(0, i, (x @ w)[s])
    return torch.zeros(8, 4).index_add(0, i, (h @ v)[s])


def weighted_edges(x: Any, w: Any, g: Any, i: Any) -> Any:
    return torch.zeros(2, 32).index_add(0, i, (x @ w) * g[:, None])


def skip_branches(a: Any, b: Any, u: Any, v: Any, w: Any) -> Any:
    return F.conv1d(F.conv1d(a, u) + F.conv1d(b, v), w)


x, one, three = t(N, C, 8, 8), t(D, C, 1, 1), t(D, C, 3, 3)
line, segments = t(1, 4, 50), torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
rows, table = t(8, 16), t(16, 32)
backwards = torch.tensor([7, 6, 5, 4, 3, 2, 1, 0])

CASES: list[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...], int]] = [
    # pooling: windows of 2 by 2 leave 4 by 4 positions
    ("one by one, then pooled", pooled, (x, one), N * C * D * 16),
    ("pooled, then one by one", lambda x, w: F.conv2d(F.avg_pool2d(x, 2), w), (x, one), N * C * D * 16),
    ("a bias between", lambda x, w, b: F.avg_pool2d(F.conv2d(x, w, b), 2), (x, one, t(D)), N * C * D * 16),
    ("a norm of known statistics between", normed, (x, one, t(D), t(D)), N * C * D * 16),
    ("a nonlinear step between", lambda x, w: F.avg_pool2d(F.conv2d(x, w).relu(), 2), (x, one), N * C * D * S),
    ("what is pooled is returned too", lambda x, w: (h := F.conv2d(x, w), F.avg_pool2d(h, 2)), (x, one),
     N * C * D * S),
    ("the greatest of a window", lambda x, w: F.max_pool2d(F.conv2d(x, w), 2), (x, one), N * C * D * S),
    # each of the 9 taps sees the sum of its window
    ("three by three, then pooled", lambda x, w: F.avg_pool2d(F.conv2d(x, w, padding=1), 2), (x, three),
     N * C * D * 16 * 9),
    ("three by three, then one window", lambda x, w: F.avg_pool2d(F.conv2d(x, w), 6), (x, three),
     N * C * D * 9),
    ("a sum over columns", lambda x, w: F.conv2d(x, w).sum(3), (x, three), N * C * D * 6 * 9),
    ("windows that overlap", lambda x, w: F.avg_pool2d(F.conv2d(x, w), 3, 2, 1), (x, one), N * C * D * 16),
    ("as many windows as positions", lambda x, w: F.avg_pool2d(F.conv2d(x, w), 3, 1, 1), (x, one),
     N * C * D * S),
    ("three windows of eight positions", lambda x, w: F.adaptive_avg_pool2d(F.conv2d(x, w), 3), (x, one),
     N * C * D * 9),
    # the smaller windows make up the larger ones
    ("pooled in two ways", twice_pooled, (x, one), N * C * D * 16),
    ("half of the windows", lambda x, w: pooled(x, w)[:, :, 1:3], (x, one), N * C * D * 8),
    ("groups", lambda x, w: F.avg_pool2d(F.conv2d(x, w, groups=2), 2), (x, t(D, C // 2, 1, 1)),
     N * C // 2 * D * 16),
    # 6 by 6 positions, 3 by 3 windows
    ("each channel alone", lambda x, w: F.avg_pool2d(F.conv2d(x, w, groups=C), 2), (x, t(C, 1, 3, 3)),
     N * C * 9 * 9),
    # products without a sum over channels are products all the same: 48 positions of 3 taps, 24 pooled
    ("one channel", lambda x, w: F.conv1d(x, w), (t(1, 1, 50), t(1, 1, 3)), 48 * 3),
    ("one channel, pooled", lambda x, w: F.avg_pool1d(F.conv1d(x, w), 2), (t(1, 1, 50), t(1, 1, 3)), 24 * 3),
    ("columns and a product, pooled",
     lambda x, w: F.avg_pool2d((w @ F.unfold(x, 3)).view(N, D, 6, 6), 2), (x, t(D, C * 9)), N * C * D * 9 * 9),
    ("patches, averaged", lambda x, w: F.conv2d(x, w, stride=2).flatten(2).mean(2), (x, t(D, C, 2, 2)),
     N * C * D * 4),
    # both taps of the window come from one position: the weights are added first
    ("transposed, then pooled", lambda x, w: F.avg_pool1d(F.conv_transpose1d(x, w, stride=2), 2),
     (line, t(4, M, 2)), 4 * M * 50),
    ("a sum of two, pooled", lambda x, y, w, v: F.avg_pool2d(F.conv2d(x, w) + F.conv2d(y, v), 2),
     (x, t(N, C, 8, 8), one, t(D, C, 1, 1)), 2 * N * C * D * 16),
    ("three dimensions", lambda x, w: F.avg_pool3d(F.conv3d(x, w), 2), (t(1, 2, 8, 8, 8), t(4, 2, 1, 1, 1)),
     2 * 4 * 64),
    # patches that do not overlap: every column is a product of its own
    ("patches put side by side", lambda x, w: F.fold(w @ x, (8, 8), 2, stride=2), (t(N, C, 16), t(D * 4, C)),
     N * 16 * C * D * 4),
    # chains: weights by weights, then one convolution
    ("one by one twice", lambda x, u, v: F.conv2d(F.conv2d(x, u), v), (x, t(M, C, 1, 1), t(B, M, 1, 1)),
     M * C * B + N * C * B * S),
    ("a nonlinear step in a chain", lambda x, u, v: F.conv2d(F.conv2d(x, u).relu(), v),
     (x, t(M, C, 1, 1), t(B, M, 1, 1)), N * S * M * (C + B)),
    ("three by three, then one by one", lambda x, u, v: F.conv2d(F.conv2d(x, u), v),
     (x, t(M, C, 3, 3), t(B, M, 1, 1)), 9 * M * C * B + N * 36 * 9 * C * B),
    ("three by three, then a linear layer", lambda x, u, v: F.conv2d(x, u).flatten(2).transpose(1, 2) @ v,
     (x, t(M, C, 3, 3), t(M, B)), 9 * M * C * B + N * 36 * 9 * C * B),
    # the bias goes through v by itself: once, it is the same at every position
    ("a bias in a chain", lambda x, u, b, v: F.conv2d(F.conv2d(x, u, b), v),
     (x, t(M, C, 1, 1), t(M), t(B, M, 1, 1)), M * C * B + N * C * B * S + M * B),
    # a merged kernel has 5 by 5 taps and 4 by 4 positions
    ("three by three twice", lambda x, u, v: F.conv2d(F.conv2d(x, u), v), (x, t(M, C, 3, 3), t(B, M, 3, 3)),
     81 * M * C * B + N * 16 * 25 * C * B),
    ("three by three twice through a narrow middle", lambda x, u, v: F.conv2d(F.conv2d(x, u), v),
     (x, t(2, C, 3, 3), t(M, 2, 3, 3)), N * 36 * 9 * C * 2 + N * 16 * 9 * 2 * M),
    # of 5 taps, 2 and 1 fall outside at either end of 50 positions
    ("three twice with padding", lambda x, u, v: F.conv1d(F.conv1d(x, u, padding=1), v, padding=1),
     (line, t(M, 4, 3), t(4, M, 3)), 9 * M * 4 * 4 + 4 * 4 * (50 * 5 - 2 * 3)),
    ("depthwise, then pointwise", lambda x, u, v: F.conv2d(F.conv2d(x, u, groups=C, padding=1), v),
     (x, t(C, 1, 3, 3), one), N * C * (PAIRS * PAIRS + D * S)),
    # w·u and w·v replace u and v: 2·(16·4·8) + 2·50·8·4, where the program has 50·16·(8+8+4)
    ("two branches into one", skip_branches,
     (t(1, 8, 50), t(1, 8, 50), t(16, 8, 1), t(16, 8, 1), t(4, 16, 1)), 2 * 16 * 4 * 8 + 2 * 50 * 8 * 4),
    ("two branches, a nonlinear step", lambda a, b, u, v,
     w: F.conv1d((F.conv1d(a, u) + F.conv1d(b, v)).relu(), w),
     (t(1, 8, 50), t(1, 8, 50), t(16, 8, 1), t(16, 8, 1), t(4, 16, 1)), 50 * 16 * (8 + 8 + 4)),
    # resampling: 16 by 16 positions are made of 8 by 8
    ("resampled, then one by one", lambda x, w: F.conv2d(F.interpolate(x, scale_factor=2, mode="bilinear"), w),
     (x, one), N * C * D * S),
    # every position times every tap, then resampled
    ("resampled, then three by three",
     lambda x, w: F.conv2d(F.interpolate(x, scale_factor=2, mode="bilinear"), w, padding=1), (x, three),
     N * C * D * S * 9),
    ("repeated, then three by three", lambda x, w: F.conv2d(F.interpolate(x, scale_factor=2), w, padding=1),
     (x, three), N * C * D * S * 9),
    # 46 pairs a dimension of the channels that were not repeated
    ("repeated beside others",
     lambda x, y, w: F.conv2d(torch.cat([F.interpolate(x, scale_factor=2), y], 1), w, padding=1),
     (x, t(N, C, 16, 16), t(D, 2 * C, 3, 3)), N * C * D * (S * 9 + 46 * 46)),
    ("a nonlinear step after resampling",
     lambda x, w: F.conv2d(F.interpolate(x, scale_factor=2, mode="bilinear").relu(), w), (x, one),
     N * C * D * 256),
    ("padded by hand", lambda x, w: F.conv1d(F.pad(x, (1, 1)), w), (line, t(M, 4, 3)), 4 * M * 148),
    # the first tap meets positions 1, 0, 1, …, 48, the last 1, …, 49, 48: 49 of 50 different ones each
    ("padded by reflection", lambda x, w: F.conv1d(F.pad(x, (1, 1), mode="reflect"), w), (line, t(M, 4, 3)),
     4 * M * (50 + 49 + 49)),
    # sums by index: two rows in the end
    ("rows summed by index", summed_by_row, (rows, table, segments), 2 * 16 * 32),
    ("rows scattered and added", scattered, (rows, table, segments), 2 * 16 * 32),
    ("a nonlinear step before an index sum",
     lambda x, w, i: torch.zeros(2, 32).index_add(0, i, (x @ w).relu()), (rows, table, segments), 8 * 16 * 32),
    ("rows added to others", lambda b, x, w, i: b.index_add(0, i, x @ w), (t(2, 32), rows, table, segments),
     2 * 16 * 32),
    ("rows with factors", weighted_edges, (rows, table, t(8), segments), 2 * 16 * 32),
    ("fewer rows than places", lambda x, w, i: torch.zeros(12, 32).index_add(0, i, x @ w),
     (t(4, 16), table, torch.tensor([0, 3, 5, 7])), 4 * 16 * 32),
    ("rows picked twice", lambda x, w, i: x[i] @ w, (rows, table, torch.tensor([3, 3, 5, 5, 3])), 2 * 16 * 32),
    ("picked rows summed by index",
     lambda x, w, s, i: torch.zeros(2, 32).index_add(0, i, x[s] @ w), (rows, table, backwards, segments),
     2 * 16 * 32),
    ("picked rows of few", lambda x, w, s, i: torch.zeros(8, 32).index_add(0, i, x[s] @ w),
     (rows, table, torch.tensor([2, 3, 2, 3, 2, 3, 2, 3]), backwards), 2 * 16 * 32),
    # only rows 0 and 1 of h are not zero; both are needed in one sum, so one row goes through both layers
    ("two layers of a graph", two_layers, (rows, table, t(32, 4), backwards, segments), 16 * 32 + 32 * 4),
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


def test_rows_after_an_index_sum_are_not_equal(demand_of: Callable[..., Demand]) -> None:
    def program(x: Any, i: Any, v: Any) -> Any:
        return torch.zeros(8, 16).index_add(0, i, x).relu() @ v

    # two rows of 16 are not zero, times 16 by 4
    assert demand_of(program, rows, segments, t(16, 4)).matrix_flops == {"fp32": 2 * 2 * 16 * 4}


def test_an_unknown_index_keeps_the_order(demand_of: Callable[..., Demand]) -> None:
    def program(x: Any, w: Any, scores: Any) -> Any:
        order = scores.topk(8, -1).indices
        return torch.zeros(8, 32).index_add(0, order, x @ w)

    assert demand_of(program, rows, table, t(9)).matrix_flops == {"fp32": 2 * 8 * 16 * 32}


EQUAL: list[tuple[str, Callable[..., Any], Callable[..., Any], tuple[torch.Tensor, ...]]] = [
    ("a window of everything and a mean", lambda x, w: F.avg_pool2d(F.conv2d(x, w), 6),
     lambda x, w: F.conv2d(x, w).mean((2, 3), keepdim=True), (x, three)),
    ("a convolution and a product of columns", lambda x, w: F.avg_pool2d(F.conv2d(x, w), 2),
     lambda x, w: F.avg_pool2d((w.flatten(1) @ F.unfold(x, 3)).view(N, D, 6, 6), 2), (x, three)),
    ("padding inside and before", lambda x, w: F.avg_pool2d(F.conv2d(x, w, padding=1), 2),
     lambda x, w: F.avg_pool2d(F.conv2d(F.pad(x, (1, 1, 1, 1)), w), 2), (x, three)),
    ("a product and a convolution of one tap", lambda x, w: F.avg_pool2d(F.conv2d(x, w), 2),
     lambda x, w: F.avg_pool2d(torch.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]), 2), (x, one)),
    ("windows by a change of shape", lambda x, w: F.avg_pool2d(F.conv2d(x, w), 2),
     lambda x, w: F.conv2d(x, w).view(N, D, 4, 2, 4, 2).mean((3, 5)), (x, one)),
    ("two poolings and one", lambda x, w: F.avg_pool2d(F.avg_pool2d(F.conv2d(x, w), 2), 2),
     lambda x, w: F.avg_pool2d(F.conv2d(x, w), 4), (x, one)),
    ("repeated rows by index or by resampling", lambda x, w: F.conv2d(F.interpolate(x, scale_factor=2), w),
     lambda x, w: F.conv2d(x.repeat_interleave(2, 2).repeat_interleave(2, 3), w), (x, three)),
    ("an index sum and a sum of groups", lambda x,
     w: summed_by_row(x, w, torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])),
     lambda x, w: (x @ w).view(2, 4, 32).sum(1), (rows, table)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "inputs"),
    [c[1:] for c in EQUAL],
    ids=[c[0].replace(" ", "_") for c in EQUAL],
)
def test_equal_programs_have_equal_bounds(
    demand_of: Callable[..., Demand],
    first: Callable[..., Any],
    second: Callable[..., Any],
    inputs: tuple[torch.Tensor, ...],
) -> None:
    assert demand_of(first, *inputs).matrix_flops == demand_of(second, *inputs).matrix_flops


def gradients(function: Callable[..., Any], *which: int) -> Callable[..., Any]:
    """The program that pulls its last input back through ``function`` to some of the others."""

    def program(*given: Any) -> Any:
        *values, grad = given
        leaves = [v.detach().requires_grad_() for v in values]
        return torch.autograd.grad(function(*leaves), [leaves[i] for i in which], grad)

    return program


def looked_up(rows: Any, w: Any) -> Any:
    return rows[torch.tensor([3, 3, 5, 5, 7])] @ w


def embedded(rows: Any, w: Any) -> Any:
    return F.embedding(torch.tensor([[3, 3, 5], [5, 7, 3]]), rows, padding_idx=5) @ w


def enlarged(x: Any, w: Any) -> Any:
    return F.conv2d(F.interpolate(x, scale_factor=2, mode="bilinear"), w)


def repeated(x: Any, w: Any) -> Any:
    return F.conv2d(F.interpolate(x, scale_factor=2), w, padding=1)


def overlapping(x: Any, w: Any) -> Any:
    return F.avg_pool2d(F.conv2d(x, w), 3, 2, 1)


def adaptive(x: Any, w: Any) -> Any:
    return F.adaptive_avg_pool2d(F.conv2d(x, w), 2)


BACKWARD: list[tuple[str, Callable[..., Any], tuple[torch.Tensor, ...], int]] = [
    # a gradient that is spread over windows is multiplied before, sums of the input over windows after
    ("to a pooled product's input", gradients(pooled, 0), (x, one, t(N, D, 4, 4)), N * C * D * 16),
    ("to a pooled product's weights", gradients(pooled, 1), (x, one, t(N, D, 4, 4)), N * C * D * 16),
    ("to both", gradients(pooled, 0, 1), (x, one, t(N, D, 4, 4)), 2 * N * C * D * 16),
    ("through windows that overlap", gradients(overlapping, 0), (x, one, t(N, D, 4, 4)), N * C * D * 16),
    ("through adaptive windows", gradients(adaptive, 0), (x, one, t(N, D, 2, 2)), N * C * D * 4),
    # the gradient at 16 by 16 positions is summed to 8 by 8 first, or for each tap
    ("to what was resampled", gradients(enlarged, 0), (x, one, t(N, D, 16, 16)), N * C * D * S),
    ("to weights after resampling", gradients(enlarged, 1), (x, one, t(N, D, 16, 16)), N * C * D * S),
    ("to what was repeated", gradients(repeated, 0), (x, three, t(N, D, 16, 16)), N * C * D * S * 9),
    ("to weights after repeating", gradients(repeated, 1), (x, three, t(N, D, 16, 16)), N * C * D * S * 9),
    # gradients of one row are summed before the product: 3 rows, of which the padding gets none
    ("to rows that were picked", gradients(looked_up, 0), (t(100, 16), table, t(5, 32)), 3 * 16 * 32),
    ("to an embedding", gradients(embedded, 0), (t(100, 16), table, t(2, 3, 32)), 2 * 16 * 32),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "inputs", "macs"),
    [c[1:] for c in BACKWARD],
    ids=[c[0].replace(" ", "_") for c in BACKWARD],
)
def test_gradients_are_summed_before_they_are_multiplied(
    demand_of: Callable[..., Demand],
    program: Callable[..., Any],
    inputs: tuple[torch.Tensor, ...],
    macs: int,
) -> None:
    assert demand_of(program, *inputs).matrix_flops == {"fp32": 2 * macs}


def test_a_pooled_gradient_is_read_once_and_spread(demand_of: Callable[..., Demand]) -> None:
    # 3 windows of 2 over 7 positions: the last position has no gradient
    found = demand_of(gradients(lambda x: F.avg_pool1d(x, 2), 0), t(1, 4, 7), t(1, 4, 3))
    assert (found.dram_read_bytes, found.dram_write_bytes) == (4 * 3 * 4, 4 * 7 * 4)


def test_an_embedding_of_nothing_but_padding_has_no_gradient(
    demand_of: Callable[..., Demand],
) -> None:
    def program(rows: Any, w: Any, grad: Any) -> Any:
        leaf = rows.detach().requires_grad_()
        found = F.embedding(torch.tensor([5, 5]), leaf, padding_idx=5) @ w
        return torch.autograd.grad(found, leaf, grad)

    found = demand_of(program, t(9, 16), table, t(2, 32))
    assert (found.matrix_flops, found.dram_write_bytes) == ({}, 9 * 16 * 4)
