"""More hand-worked cases: views, indices, windows, and products that need not be done as written.

Bytes: f32 4, int64 8, bool 1, complex64 8. FLOPs are 2 a multiply-add; the sums stand beside each number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand

I = torch.tensor  # noqa: E741  (an index tensor)
C64, F16 = torch.complex64, torch.float16
MASK = torch.tensor([True, False, True, False, False, True])
INFINITY = float("inf")


def t(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def swapped_halves(x: Any) -> Any:
    first = x[:4].clone()
    x[:4] = x[4:]
    x[4:] = first
    return x


def zeroed_where(x: Any, mask: Any) -> Any:
    x[mask] = 0
    return x


def written_by_out(a: Any, b: Any, whole: Any) -> Any:
    torch.mm(a, b, out=whole[:4])
    return whole


def page_written_then_read(cache: Any, new: Any, places: Any) -> Any:
    cache[places] = new
    return cache[:6].sum()


def unfolded_gradient(x: Any, g: Any) -> Any:
    x.requires_grad_()
    return torch.autograd.grad(x.unfold(1, 4, 2), x, g)


def flexible_causal(q: Any, k: Any, v: Any) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(
        q, k, v, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -INFINITY)
    )


def flexible_window(q: Any, k: Any, v: Any) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(
        lambda b, h, i, j: (i >= j) & (i - j < 3), None, None, 8, 8, device="cpu", BLOCK_SIZE=4
    )
    return flex_attention(q, k, v, block_mask=mask)


def dead_row(q: Any, k: Any, v: Any) -> Any:
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    mask[0] = False
    return torch.softmax((q @ k.T).masked_fill(~mask, -INFINITY), -1) @ v


def dilated_causal(q: Any, k: Any, v: Any) -> Any:
    i = torch.arange(6)
    mask = ((i[:, None] - i) % 2 == 0) & (i[:, None] >= i)
    return torch.softmax((q @ k.mT).masked_fill(~mask, -INFINITY), -1) @ v


def sinks(q: Any, k: Any, v: Any, s: Any) -> Any:
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)
    scores = (q @ k.mT).masked_fill(later, -INFINITY)
    scores = torch.cat([scores, s[:, None, None].expand(2, 6, 1)], -1)
    return torch.softmax(scores, -1)[..., :-1] @ v


def joined_masks(q: Any, k: Any, v: Any) -> Any:
    scores = torch.where(torch.ones(6, 6, dtype=torch.bool).tril(), q @ k.mT, -INFINITY)
    near = torch.ones(6, 6, dtype=torch.bool).triu(-1)
    return torch.softmax(torch.where(near, scores, -INFINITY), -1) @ v


def edges(x: Any, w: Any, src: Any, dst: Any) -> Any:
    return torch.zeros(4, 16).index_add(0, dst, x[src] @ w)


Program = Callable[..., Any]
CASES: list[tuple[str, Program, tuple[Any, ...], int, int, int]] = [
    # (name, program, inputs, bytes read, bytes written, multiply-adds in fp32)
    # ---- views and storage ----
    ("views of views", lambda x: x[2:6][1:3, ::2] * 2, (t(8, 8),), 32, 32, 0),
    # rows start at 0, 2, 4 and are 4 long: positions 0 to 7
    ("overlapping strides", lambda x: x.as_strided((3, 4), (2, 1)) * 2, (t(16),), 32, 48, 0),
    ("strides from an absolute place", lambda x: x[1:].as_strided((2, 2), (6, 1), 13) * 2,
     (t(6, 6),), 16, 16, 0),
    ("windows with gaps", lambda x: x.unfold(0, 2, 4) * 2, (t(10),), 24, 24, 0),
    ("halves swapped in place", swapped_halves, (t(8, 4),), 128, 128, 0),
    ("a product written into a slice", written_by_out, (t(4, 8), t(8, 16), t(8, 16)), 640, 256, 512),
    ("a place of a shuffle", lambda x: F.channel_shuffle(x, 2)[:, 0] * 2, (t(1, 4, 3, 3),), 36, 36, 0),
    ("negative padding", lambda x: F.pad(x, (-2, -1)) * 2, (t(4, 8),), 80, 80, 0),
    # ---- indices ----
    # every source element counts, also those that collide; old values do not
    ("the greatest of those that collide",
     lambda i, s: torch.zeros(5).scatter_reduce(0, i, s, "amax", include_self=False),
     (I([0, 0, 2, 2]), t(4)), 16 + 32, 20, 0),
    ("different values of an index", lambda i: torch.unique(i), (I([3, 3, 7, 1]),), 32, 24, 0),
    ("a permutation reads every row", lambda x, s: x[torch.argsort(s)], (t(100, 16), t(100)),
     6400 + 400, 6400, 0),
    ("the k greatest are k rows", lambda x, s: x[torch.topk(s, 2).indices], (t(100, 16), t(100)),
     128 + 400, 128, 0),
    ("a sort undone", lambda x, s: x[s.argsort().argsort()], (t(8, 4), t(8)), 128 + 32, 128, 0),
    ("a line in another's order", lambda x, s: x.gather(1, s.argsort(1)), (t(4, 8), t(4, 8)),
     256, 128, 0),
    # at least two experts' matrices are read; the router and 2 products for each of 4 tokens
    ("experts by topk",
     lambda x, g, w: torch.einsum("td,tkdf->tkf", x, w[(x @ g).topk(2, -1).indices]),
     (t(4, 8), t(8, 6), t(6, 8, 16)), (32 + 48 + 2 * 128) * 4, 512, 4 * 48 + 8 * 128),
    # a search looks at few places of a long line, one at least
    ("a search", lambda line, q: torch.searchsorted(line, q), (t(10000), t(3)), 4 + 12, 24, 0),
    ("known places filled in order", lambda x, m, s: x.masked_scatter(m, s), (t(6), MASK, t(6)),
     12 + 6 + 12, 24, 0),
    ("zeroed by a known mask", zeroed_where, (t(6), MASK), 6, 12, 0),
    ("rows written, then read", page_written_then_read, (t(10, 8), t(2, 8), I([2, 7])),
     2 * 32 + 16 + 5 * 32, 64 + 4, 0),
    ("ignored targets", lambda x, y: F.cross_entropy(x, y), (t(4, 8), I([1, -100, 3, 4])),
     96 + 32, 4, 0),
    # ---- windows as columns ----
    ("one window", lambda x: F.unfold(x, 3)[:, :, :1] * 2, (t(1, 1, 8, 8),), 36, 36, 0),
    ("windows apart", lambda x: F.unfold(x, 2, stride=4) * 2, (t(1, 1, 8, 8),), 64, 64, 0),
    ("part of an image put together", lambda x: F.fold(x, (4, 4), 2, stride=2)[:, :, :2],
     (t(1, 8, 4),), 64, 64, 0),
    # in each dimension 4·3 - 2 of (window, tap) fall inside
    ("columns that leave the image", lambda x: F.fold(x, (4, 4), 3, padding=1), (t(1, 9, 16),),
     400, 64, 0),
    ("a convolution by columns", lambda x, w: w.view(8, -1) @ F.unfold(x, 3, padding=1),
     (t(2, 4, 8, 8), t(8, 4, 3, 3)), (512 + 288) * 4, 4096, 2 * 8 * 4 * 22 * 22),
    ("the gradient of windows", unfolded_gradient, (t(2, 10), t(2, 4, 4)), 128, 80, 0),
    # ---- products ----
    ("a trace of a product", lambda a, b: torch.trace(a @ b), (t(4, 8), t(8, 4)), 256, 4, 32),
    ("two terms with one left factor", lambda x, a, b: x @ a + x @ b,
     (t(4, 8), t(8, 16), t(8, 16)), (32 + 256) * 4, 256, 512),
    ("two terms with one right factor", lambda a, b, w: a @ w - 2 * (b @ w),
     (t(4, 8), t(4, 8), t(8, 16)), (64 + 128) * 4, 256, 512),
    ("a loop of terms", lambda x, w: sum(x[i] @ w for i in range(3)), (t(3, 4, 8), t(8, 16)),
     (96 + 128) * 4, 256, 512),
    ("two linear layers added", lambda x, a, b, c, d: F.linear(x, a, c) + F.linear(x, b, d),
     (t(4, 8), t(16, 8), t(16, 8), t(16), t(16)), (32 + 256 + 32) * 4, 256, 512),
    ("two convolutions added", lambda x, a, b: F.conv1d(x, a) + F.conv1d(x, b),
     (t(1, 2, 10), t(3, 2, 3), t(3, 2, 3)), (20 + 36) * 4, 96, 8 * 3 * 2 * 3),
    ("a term that is returned too", lambda x, a, b: (x @ a, x @ a + x @ b),
     (t(4, 8), t(8, 16), t(8, 16)), (32 + 256) * 4, 512, 1024),
    # the low-rank part is added to the weights: 64·4·64, not 2·64·64·4
    ("a low-rank term", lambda x, w, a, b: x @ w + (x @ a) @ b,
     (t(64, 64), t(64, 64), t(64, 4), t(4, 64)), (2 * 4096 + 512) * 4, 16384, 64**3 + 4 * 4096),
    ("one tensor twice in a concatenation", lambda x, w: torch.cat([x, x]) @ w, (t(4, 8), t(8, 16)),
     640, 512, 512),
    ("one tensor stacked", lambda x, w: torch.stack([x, x, x]) @ w, (t(4, 8), t(8, 16)), 640, 768, 512),
    ("rows in reverse", lambda x, w: x @ w + x.flip(0) @ w, (t(4, 8), t(8, 16)), 640, 256, 512),
    ("the transpose of a product", lambda a, b: (a @ b, b.T @ a.T), (t(4, 8), t(8, 16)), 640, 512, 512),
    ("rows of a product that is done", lambda x, w: (x[:2] @ w, x @ w), (t(4, 8), t(8, 16)),
     640, 384, 512),
    ("overlapping rows", lambda x, w: (x[:3] @ w, x[1:] @ w), (t(4, 8), t(8, 16)), 640, 384, 512),
    ("one of a batch that is done", lambda a, b: (torch.bmm(a, b), a[0] @ b[0]),
     (t(2, 4, 8), t(2, 8, 5)), (64 + 80) * 4, 240, 2 * 4 * 8 * 5),
    ("blocks that are not done twice", lambda x, w: x[:, :4] @ w[:4] + x[:, 4:] @ w[4:],
     (t(4, 8), t(8, 16)), 640, 256, 512),
    ("a row picked twice", lambda x, w, i: x[i] @ w, (t(4, 8), t(8, 16), I([1, 1, 2])),
     (16 + 128) * 4 + 24, 192, 2 * 128),
    # rows 0 and 2 of x are multiplied, however many edges leave them
    ("messages along edges", edges, (t(4, 8), t(8, 16), I([0, 0, 0, 2]), I([0, 1, 2, 2])),
     (16 + 128) * 4 + 64, 256, 2 * 128),
    # the positions of each tap are summed first, padding or not: 9 taps for 2 images, 5 and 3 channels
    ("the average of a padded convolution", lambda x, w: F.conv2d(x, w, padding=1).mean((2, 3)),
     (t(2, 3, 8, 8), t(5, 3, 3, 3)), (384 + 135) * 4, 40, 2 * 5 * 3 * 9),
    ("the average of a transposed convolution",
     lambda x, w, b: torch.exp(F.conv_transpose2d(x, w, b).mean((2, 3))),
     (t(2, 3, 8, 8), t(3, 5, 3, 3), t(5)), (384 + 135 + 5) * 4, 40, 2 * 5 * 3 * 9),
    ("the average of a padded depthwise convolution",
     lambda x, w: F.conv1d(x, w, padding=1, groups=4).mean(-1), (t(2, 4, 8), t(4, 1, 3)),
     (64 + 12) * 4, 32, 2 * 4 * 3),
    # ---- attention ----
    ("a function of the scores", flexible_causal, (t(1, 2, 8, 16),) * 3, 3072, 1024, 2 * 2 * 36 * 16),
    ("a mask by blocks", flexible_window, (t(1, 2, 8, 16),) * 3, 3072, 1024, 2 * 2 * 21 * 16),
    # rows 1 to 3 see 2 + 3 + 4 keys
    ("a query without keys", dead_row, (t(4, 8), t(4, 8), t(4, 8)), (24 + 64) * 4, 128, 2 * 9 * 8),
    # 1 + 1 + 2 + 2 + 3 + 3 pairs
    ("every other key", dilated_causal, (t(2, 6, 8),) * 3, 1152, 384, 2 * 2 * 12 * 8),
    ("a sink beside the keys", sinks, (*(t(2, 6, 8),) * 3, t(2)), 1152 + 8, 384, 2 * 2 * 21 * 8),
    # each query sees itself and the key before: 1 + 5·2 pairs
    ("two masks one after the other", joined_masks, (t(2, 6, 8),) * 3, 1152, 384, 2 * 2 * 11 * 8),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[c[0].replace(" ", "_") for c in CASES])
def test_demand_is_exact(
    case: tuple[str, Program, tuple[Any, ...], int, int, int], demand_of: Callable[..., Demand]
) -> None:
    _, program, inputs, read, written, macs = case
    # distinct tensors where the table repeats one
    distinct = [t(*x.shape) if isinstance(x, torch.Tensor) and x.is_meta else x for x in inputs]
    demand = demand_of(program, *distinct)
    assert demand.dram_read_bytes == read
    assert demand.dram_write_bytes == written
    assert demand.matrix_flops == ({"fp32": 2 * macs} if macs else {})


COMPLEX: list[tuple[str, Program, tuple[Any, ...], int]] = [
    ("complex numbers take three real products", lambda a, b: a @ b,
     (t(4, 8, dtype=C64), t(8, 16, dtype=C64)), 3),
    ("their real part takes two", lambda a, b: (a @ b).real * 1,
     (t(4, 8, dtype=C64), t(8, 16, dtype=C64)), 2),
    ("complex times real takes two", lambda a, b: a @ b.to(C64),
     (t(4, 8, dtype=C64), t(8, 16)), 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "inputs", "products"),
    [c[1:] for c in COMPLEX],
    ids=[c[0].replace(" ", "_") for c in COMPLEX],
)
def test_a_complex_product_is_priced_in_real_ones(
    program: Program, inputs: tuple[Any, ...], products: int, demand_of: Callable[..., Demand]
) -> None:
    assert demand_of(program, *inputs).matrix_flops == {"fp32": 2 * products * 4 * 8 * 16}


def test_many_tiles_of_one_product_are_all_counted(demand_of: Callable[..., Demand]) -> None:
    def tiled(a: Any, b: Any) -> Any:
        rows = [torch.cat([a[i : i + 1] @ b[:, j : j + 2] for j in range(0, 8, 2)], 1)
                for i in range(16)]  # fmt: skip
        return torch.cat(rows)

    # 64 tiles that share nothing: more than are united, and none may be lost
    assert demand_of(tiled, t(16, 4), t(4, 8)).matrix_flops == {"fp32": 2 * 16 * 4 * 8}
