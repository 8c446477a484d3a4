"""Hand-worked cases: a program, its inputs, and the exact work and traffic of every correct kernel.

FLOPs are 2 a multiply-add. The arithmetic stands beside each number. Bytes: f32 4, bf16 2, int64 8, bool 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand

BF16, F16, F64 = torch.bfloat16, torch.float16, torch.float64
FP8 = torch.float8_e4m3fn


def t(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    read: int
    write: int
    flops: dict[str, int] = field(default_factory=dict)


def sum_after(x: Any, w: Any) -> Any:
    return (x @ w).sum(0)


def written_out_attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(-1, -2) / 4
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v


def additive_attention(q: Any, k: Any, v: Any) -> Any:
    mask = torch.full((8, 8), float("-inf")).triu(1)
    return torch.softmax(q @ k.transpose(-1, -2) + mask, -1) @ v


def window_attention(q: Any, k: Any, v: Any) -> Any:
    position = torch.arange(8)
    distance = position[:, None] - position[None, :]
    mask = (distance >= 0) & (distance < 3)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def padded_attention(q: Any, k: Any, v: Any, lengths: Any) -> Any:
    mask = torch.arange(8)[None, :] < lengths[:, None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])


def grouped_attention(q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def repeated_heads(q: Any, k: Any, v: Any) -> Any:
    k, v = (x.repeat_interleave(4, dim=1) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v)


def projected_then_repeated(x: Any, w: Any) -> Any:
    return (x @ w).repeat(4, 1)


def repeated_then_projected(x: Any, w: Any) -> Any:
    return x.repeat(4, 1) @ w


def cache_update(cache: Any, new: Any, q: Any) -> Any:
    cache[:, 4:5] = new
    return q @ cache[:, :5].transpose(-1, -2)


def in_place_add(x: Any, y: Any) -> Any:
    x.add_(y)
    return y.sum()


def in_place_and_returned(x: Any, y: Any) -> Any:
    x.add_(y)
    return x


def paged(cache: Any, pages: Any, q: Any) -> Any:
    keys = cache.float()[pages].reshape(-1, 16)
    return q @ keys.T


def tied(x: Any, w: Any) -> Any:
    return (x @ w) @ w.T


def looped(x: Any, w: Any) -> Any:
    for _ in range(3):
        x = torch.tanh(x @ w)
    return x


def same_product_twice(x: Any, w: Any) -> Any:
    return torch.relu(x @ w) + torch.sigmoid(x @ w)


def backward_of_linear(x: Any, w: Any, g: Any) -> Any:
    return g @ w.T, x.T @ g


def unused_tail(x: Any, w: Any) -> Any:
    first, second = (x @ w).chunk(2, dim=-1)
    del second
    return first


def top_values(x: Any) -> Any:
    return torch.topk(x, 2, dim=-1).values


def dequantised(x: Any, q: Any, s: Any) -> Any:
    return x @ (q.to(torch.bfloat16) * s)


def block_dequantised(x: Any, q: Any, s: Any) -> Any:
    wide = q.to(torch.float32).view(4, 16, 8) * s.view(4, 1, 8)
    return x.float() @ wide.view(64, 8)


def channel_scaled(x: Any, g: Any, w: Any) -> Any:
    return (x.float() * g) @ w.float()


def attention_inputs(
    batch: int, heads: int, q: int, k: int, d: int, kv_heads: int | None = None
) -> tuple[torch.Tensor, ...]:
    kv = kv_heads or heads
    return t(batch, heads, q, d), t(batch, kv, k, d), t(batch, kv, k, d)


def routed(x: Any, router: Any, w: Any) -> Any:
    _, chosen = torch.topk(x @ router, 1, dim=-1)
    out = torch.zeros_like(x)
    for expert in range(2):
        rows = (chosen == expert).any(-1).nonzero().squeeze(-1)
        out.index_add_(0, rows, x[rows] @ w[expert])
    return out


SQUARE = torch.rand(8, 8)
TOKENS = torch.eye(
    4, 2
)  # with an identity router: tokens 0, 2, 3 go to expert 0, token 1 to expert 1

CASES = [
    # ---- products ----
    Case("matrix product", lambda a, b: a @ b, (t(4, 8), t(8, 16)),
         read=(4 * 8 + 8 * 16) * 4, write=4 * 16 * 4, flops={"fp32": 2 * 4 * 8 * 16}),
    Case("bf16 product", lambda a, b: a @ b, (t(4, 8, dtype=BF16), t(8, 16, dtype=BF16)),
         read=(4 * 8 + 8 * 16) * 2, write=4 * 16 * 2, flops={"bf16": 2 * 4 * 8 * 16}),
    Case("linear with bias", F.linear, (t(2, 4, 8), t(16, 8), t(16)),
         read=(64 + 128 + 16) * 4, write=2 * 4 * 16 * 4, flops={"fp32": 2 * 8 * 8 * 16}),
    Case("batched product", torch.bmm, (t(3, 4, 8), t(3, 8, 5)),
         read=(96 + 120) * 4, write=3 * 4 * 5 * 4, flops={"fp32": 2 * 3 * 4 * 8 * 5}),
    Case("product with a broadcast batch", torch.matmul, (t(3, 4, 8), t(8, 5)),
         read=(96 + 40) * 4, write=60 * 4, flops={"fp32": 2 * 3 * 4 * 8 * 5}),
    Case("matrix times vector", torch.mv, (t(4, 8), t(8)),
         read=(32 + 8) * 4, write=16, flops={"fp32": 2 * 4 * 8}),
    Case("outer product sums nothing", torch.outer, (t(4), t(8)), read=12 * 4, write=32 * 4),
    Case("inner rank of one sums nothing", lambda a, b: a @ b, (t(4, 1), t(1, 8)),
         read=12 * 4, write=32 * 4),
    Case("einsum of two", lambda a, b: torch.einsum("bqd,bkd->bqk", a, b), (t(2, 3, 8), t(2, 5, 8)),
         read=(48 + 80) * 4, write=30 * 4, flops={"fp32": 2 * 2 * 3 * 5 * 8}),
    Case("einsum of three in the best order", lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c),
         (t(64, 64), t(64, 64), t(64, 1)),
         # b @ c first: 64·64 multiply-adds, then a @ (bc): 64·64
         read=(4096 + 4096 + 64) * 4, write=64 * 4, flops={"fp32": 2 * 2 * 4096}),
    Case("chain in the wrong order", lambda a, b, c: (a @ b) @ c, (t(64, 64), t(64, 64), t(64, 1)),
         read=(4096 + 4096 + 64) * 4, write=64 * 4, flops={"fp32": 2 * 2 * 4096}),
    Case("chain through a bias", lambda a, b, s, c: F.linear(F.linear(a, b, s), c),
         (t(64, 64), t(64, 64), t(64), t(1, 64)),
         # c times b, then times a; the bias times c apart: 4096 + 4096 + 64 multiply-adds
         read=(2 * 4096 + 128) * 4, write=64 * 4, flops={"fp32": 2 * (2 * 4096 + 64)}),
    Case("attention without a softmax", lambda q, k, v: (q @ k.transpose(-1, -2) * 0.5) @ v,
         (t(2, 64, 4), t(2, 64, 4), t(2, 64, 4)),
         # keys times values first: 4·64·4, then queries: 64·4·4, for each of 2
         read=3 * 512 * 4, write=512 * 4, flops={"fp32": 2 * 2 * 2 * 1024}),
    Case("no reordering through a nonlinear function", lambda a, b, c: torch.relu(a @ b) @ c,
         (t(8, 8), t(8, 8), t(8, 1)), read=(64 + 64 + 8) * 4, write=32, flops={"fp32": 2 * (512 + 64)}),
    Case("product and sum written out", lambda a, b: (a[:, :, None] * b[None]).sum(1),
         (t(4, 8), t(8, 16)), read=(32 + 128) * 4, write=64 * 4, flops={"fp32": 2 * 4 * 8 * 16}),
    Case("sum of a square is no product of two tensors", lambda x: (x * x).sum(-1), (t(4, 8),),
         read=128, write=16),
    Case("sum over rows of a product", sum_after, (t(4, 8), t(8, 16)),
         # the rows are summed first: one row times the matrix
         read=(32 + 128) * 4, write=64, flops={"fp32": 2 * 8 * 16}),
    Case("sum over one dimension of a batched product", lambda x, w: (x @ w).sum(1),
         (t(2, 4, 8), t(8, 16)), read=(64 + 128) * 4, write=128, flops={"fp32": 2 * 2 * 8 * 16}),
    Case("mean of everything in a product", lambda x, w: (x @ w).mean(), (t(4, 8), t(8, 16)),
         # column sums of x times row sums of w: one inner product of length 8
         read=(32 + 128) * 4, write=4, flops={"fp32": 2 * 8}),
    Case("sum after a bias and a scale", lambda x, w, b: ((x @ w + b) * 3).sum(0),
         (t(4, 8), t(8, 16), t(16)), read=(32 + 128 + 16) * 4, write=64, flops={"fp32": 2 * 8 * 16}),
    Case("no fold through a nonlinear function", lambda x, w: torch.relu(x @ w).sum(0),
         (t(4, 8), t(8, 16)), read=(32 + 128) * 4, write=64, flops={"fp32": 2 * 4 * 8 * 16}),
    Case("two classes side by side", lambda a, b, c, d: (a @ b, c @ d),
         (t(4, 8), t(8, 4), t(4, 8, dtype=BF16), t(8, 4, dtype=BF16)),
         read=64 * 4 + 64 * 2, write=16 * 4 + 16 * 2, flops={"bf16": 256, "fp32": 256}),
    Case("double precision", lambda a, b: a @ b, (t(4, 8, dtype=F64), t(8, 4, dtype=F64)),
         read=64 * 8, write=16 * 8, flops={"fp64": 256}),
    # ---- work done once, or not at all ----
    Case("rows computed and then discarded", lambda x, w: (x @ w)[:2], (t(4, 8), t(8, 16)),
         read=(2 * 8 + 128) * 4, write=2 * 16 * 4, flops={"fp32": 2 * 2 * 8 * 16}),
    Case("strided columns of a product", lambda x, w: (x @ w)[:, ::4], (t(4, 8), t(8, 16)),
         read=(32 + 8 * 4) * 4, write=4 * 4 * 4, flops={"fp32": 2 * 4 * 8 * 4}),
    Case("second half of a product unused", unused_tail, (t(4, 8), t(8, 16)),
         read=(32 + 64) * 4, write=4 * 8 * 4, flops={"fp32": 2 * 4 * 8 * 8}),
    Case("dead product", lambda x, w: (x @ w, x + 1)[1], (t(4, 8), t(8, 16)),
         read=128, write=128),
    Case("the same product twice", same_product_twice, (t(4, 8), t(8, 16)),
         read=(32 + 128) * 4, write=64 * 4, flops={"fp32": 2 * 4 * 8 * 16}),
    Case("an expanded operand is multiplied once", lambda x, w: x.expand(100, 8) @ w,
         (t(1, 8), t(8, 16)), read=(8 + 128) * 4, write=1600 * 4, flops={"fp32": 2 * 8 * 16}),
    Case("repeated rows are multiplied once", repeated_then_projected, (t(3, 8), t(8, 16)),
         read=(24 + 128) * 4, write=12 * 16 * 4, flops={"fp32": 2 * 3 * 8 * 16}),
    Case("repeating after the product", projected_then_repeated, (t(3, 8), t(8, 16)),
         read=(24 + 128) * 4, write=12 * 16 * 4, flops={"fp32": 2 * 3 * 8 * 16}),
    Case("weights used twice are read once", tied, (t(4, 8), t(8, 16)),
         read=(32 + 128) * 4, write=32 * 4, flops={"fp32": 2 * 2 * 4 * 8 * 16}),
    Case("weights of a loop are read once", looped, (t(4, 8), t(8, 8)),
         read=(32 + 64) * 4, write=32 * 4, flops={"fp32": 3 * 2 * 4 * 8 * 8}),
    Case("linear backward", backward_of_linear, (t(4, 8), t(8, 16), t(4, 16)),
         read=(32 + 128 + 64) * 4, write=(32 + 128) * 4, flops={"fp32": 2 * 2 * 4 * 8 * 16}),
    Case("lower triangle of ones is a running sum", lambda x: torch.ones(8, 8).tril() @ x,
         (t(8, 4),), read=128, write=128, flops={}),  # nothing is multiplied: a scan only adds
    Case("lower triangle of constants", lambda x: torch.full((8, 8), 0.5).tril() @ x, (t(8, 4),),
         read=128, write=128, flops={}),  # half a running sum
    Case("a diagonal scales and sums nothing", lambda d, x: torch.diag(d) @ x, (t(8), t(8, 4)),
         read=32 + 128, write=128),
    Case("identity from constants", lambda x: torch.eye(8) @ x, (t(8, 4),), read=128, write=128),
    Case("product of triangles", lambda a, b: (a.tril() @ b.tril()).tril(), (t(8, 8), t(8, 8)),
         # i >= k >= j: 8·9·10/6 = 120 products; both triangles have 36 elements
         read=2 * 36 * 4, write=64 * 4, flops={"fp32": 2 * 120}),
    # ---- attention ----
    Case("attention", F.scaled_dot_product_attention, attention_inputs(2, 4, 8, 8, 16),
         read=3 * 1024 * 4, write=1024 * 4, flops={"fp32": 2 * 2 * 2 * 4 * 64 * 16}),
    Case("causal attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
         attention_inputs(2, 4, 8, 8, 16),
         # 36 of 64 pairs
         read=3 * 1024 * 4, write=1024 * 4, flops={"fp32": 2 * 2 * 2 * 4 * 36 * 16}),
    Case("causal attention with fewer queries",
         lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
         attention_inputs(1, 1, 2, 4, 16),
         # query 0 sees key 0, query 1 keys 0 and 1: 3 pairs; keys 2 and 3 are never read
         read=(2 * 16 + 2 * 2 * 16) * 4, write=2 * 16 * 4, flops={"fp32": 2 * 2 * 3 * 16}),
    Case("causal attention written out", written_out_attention, attention_inputs(2, 4, 8, 8, 16),
         read=3 * 1024 * 4, write=1024 * 4, flops={"fp32": 2 * 2 * 2 * 4 * 36 * 16}),
    Case("causal attention by an added mask", additive_attention, attention_inputs(2, 4, 8, 8, 16),
         read=3 * 1024 * 4, write=1024 * 4, flops={"fp32": 2 * 2 * 2 * 4 * 36 * 16}),
    Case("window attention", window_attention, attention_inputs(1, 1, 8, 8, 16),
         # 1 + 2 + 6·3 = 21 pairs
         read=3 * 128 * 4, write=128 * 4, flops={"fp32": 2 * 2 * 21 * 16}),
    Case("padded keys", padded_attention,
         (*attention_inputs(2, 1, 4, 8, 16), torch.tensor([3, 8])),
         # sequence 0 uses 3 keys, sequence 1 all 8: (3 + 8)·4 pairs, and 11 rows of k and of v
         read=(2 * 4 * 16 + 2 * 11 * 16) * 4 + 2 * 8, write=2 * 4 * 16 * 4,
         flops={"fp32": 2 * 2 * 44 * 16}),
    Case("grouped queries", grouped_attention, attention_inputs(1, 8, 4, 4, 16, kv_heads=2),
         read=(8 * 64 + 2 * 2 * 64) * 4, write=8 * 64 * 4, flops={"fp32": 2 * 2 * 8 * 16 * 16}),
    Case("heads repeated by hand", repeated_heads, attention_inputs(1, 8, 4, 4, 16, kv_heads=2),
         read=(8 * 64 + 2 * 2 * 64) * 4, write=8 * 64 * 4, flops={"fp32": 2 * 2 * 8 * 16 * 16}),
    Case("last query of causal attention",
         lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)[:, :, 2:3],
         attention_inputs(1, 1, 8, 8, 16),
         # query 2 sees keys 0 to 2
         read=(16 + 2 * 3 * 16) * 4, write=64, flops={"fp32": 2 * 2 * 3 * 16}),
    # ---- convolution ----
    Case("convolution without padding", F.conv2d, (t(2, 4, 8, 8), t(8, 4, 3, 3)),
         # 6·6 positions, 9 taps each
         read=(512 + 288) * 4, write=2 * 8 * 36 * 4, flops={"fp32": 2 * 2 * 8 * 4 * 36 * 9}),
    Case("convolution with padding", lambda x, w: F.conv2d(x, w, padding=1),
         (t(2, 4, 8, 8), t(8, 4, 3, 3)),
         # in each dimension 8·3 - 2 = 22 taps fall inside
         read=(512 + 288) * 4, write=2 * 8 * 64 * 4, flops={"fp32": 2 * 2 * 8 * 4 * 22 * 22}),
    Case("padding by hand", lambda x, w: F.conv2d(F.pad(x, (1, 1, 1, 1)), w),
         (t(2, 4, 8, 8), t(8, 4, 3, 3)),
         read=(512 + 288) * 4, write=2 * 8 * 64 * 4, flops={"fp32": 2 * 2 * 8 * 4 * 22 * 22}),
    Case("grouped convolution", lambda x, w: F.conv2d(x, w, groups=2), (t(1, 4, 4, 4), t(6, 2, 3, 3)),
         read=(64 + 108) * 4, write=6 * 4 * 4, flops={"fp32": 2 * 6 * 2 * 4 * 9}),
    Case("depthwise convolution", lambda x, w: F.conv2d(x, w, groups=4), (t(1, 4, 4, 4), t(4, 1, 3, 3)),
         read=(64 + 36) * 4, write=4 * 4 * 4, flops={"fp32": 2 * 4 * 4 * 9}),
    Case("strided convolution skips rows", lambda x, w: F.conv1d(x, w, stride=4),
         (t(1, 2, 16), t(3, 2, 2)),
         # 4 outputs read 2 of every 4 positions
         read=(2 * 8 + 12) * 4, write=3 * 4 * 4, flops={"fp32": 2 * 3 * 2 * 4 * 2}),
    Case("dilated convolution", lambda x, w: F.conv1d(x, w, dilation=3), (t(1, 2, 7), t(3, 2, 3)),
         # positions 0, 3 and 6 of both channels
         read=(6 + 18) * 4, write=3 * 4, flops={"fp32": 2 * 3 * 2 * 3}),
    Case("transposed convolution", lambda x, w: F.conv_transpose2d(x, w, stride=2),
         (t(2, 4, 8, 8), t(4, 8, 2, 2)),
         # every output position has exactly one tap
         read=(512 + 128) * 4, write=2 * 8 * 256 * 4, flops={"fp32": 2 * 2 * 8 * 4 * 256}),
    Case("pointwise convolution", F.conv2d, (t(2, 4, 3, 3), t(8, 4, 1, 1)),
         read=(72 + 32) * 4, write=144 * 4, flops={"fp32": 2 * 2 * 9 * 4 * 8}),
    Case("average over positions of a convolution", lambda x, w: F.conv1d(x, w).mean(-1),
         (t(1, 2, 10), t(3, 2, 3)),
         # windows are summed first: one product a tap
         read=(20 + 18) * 4, write=12, flops={"fp32": 2 * 3 * 2 * 3}),
    # ---- traffic ----
    Case("elementwise", lambda x, y: torch.relu(x) + y, (t(4, 8), t(8)), read=(32 + 8) * 4, write=128),
    Case("dead input", lambda x, y: x + 1, (t(4, 8), t(100)), read=128, write=128),
    Case("only the shape is used", lambda x: torch.zeros_like(x), (t(4, 8),), read=0, write=128),
    Case("output in a narrower format", lambda x: x.to(torch.bfloat16), (t(4, 8),), read=128, write=64),
    Case("a comparison writes one byte", lambda x: x > 0, (t(4, 8),), read=128, write=32),
    Case("unused indices of an extremum", lambda x: x.max(dim=-1).values, (t(4, 8),), read=128, write=16),
    Case("indices are eight bytes", lambda x: x.argmax(-1), (t(4, 8),), read=128, write=4 * 8),
    Case("unused indices of topk", top_values, (t(4, 8),), read=128, write=4 * 2 * 4),
    Case("strided read", lambda x: x[::2, ::3] * 2, (t(8, 9),), read=4 * 3 * 4, write=12 * 4),
    Case("one row", lambda x: x[3] + 1, (t(8, 9),), read=36, write=36),
    Case("a tensor returned twice", lambda x: (y := x * 2, y), (t(4, 8),), read=128, write=128),
    Case("returned and consumed", lambda x: (y := x * 2, y.sum()), (t(4, 8),), read=128, write=132),
    Case("expanded output counts its elements", lambda x: (x * 2).expand(10, 8), (t(1, 8),),
         read=32, write=32),
    Case("contiguous of a transpose", lambda x: x.T.contiguous(), (t(4, 8),), read=128, write=128),
    Case("concatenation then a slice", lambda x, y: torch.cat([x, y])[2:6], (t(4, 8), t(4, 8)),
         read=2 * 2 * 32, write=4 * 32),
    Case("stack", lambda x, y: torch.stack([x, y], 1), (t(4), t(4)), read=32, write=32),
    Case("split into unused parts", lambda x: x.split([2, 3, 3], dim=1)[1] + 1, (t(4, 8),),
         read=48, write=48),
    Case("diagonal", lambda x: x.diagonal() + 1, (t(8, 8),), read=32, write=32),
    Case("flatten and cut", lambda x: x.reshape(-1)[10:20] + 1, (t(8, 8),), read=40, write=40),
    Case("mask of a constant triangle", lambda x: x.tril() * 2, (t(8, 8),), read=36 * 4, write=256),
    Case("known rows, repeated", lambda table, i: table[i], (t(100, 16), torch.tensor([1, 5, 5])),
         # rows 1 and 5
         read=2 * 64 + 24, write=3 * 64),
    Case("embedding", lambda table, i: F.embedding(i, table), (t(100, 16), torch.tensor([[3, 3], [9, 3]])),
         read=2 * 64 + 32, write=4 * 64),
    Case("cast of a whole cache before a gather", paged,
         (t(50, 4, 16, dtype=BF16), torch.tensor([7, 3]), t(2, 16)),
         # two pages of 4 rows; the product has one bf16 and one fp32 operand
         read=2 * 4 * 16 * 2 + 16 + 128, write=2 * 8 * 4, flops={"fp32": 2 * 2 * 8 * 16}),
    Case("gather along a dimension", lambda x, i: torch.gather(x, 1, i),
         (t(2, 8), torch.tensor([[0, 0], [5, 6]])), read=3 * 4 + 32, write=16),
    Case("cache updated in a slice", cache_update, (t(2, 100, 16), t(2, 1, 16), t(2, 1, 16)),
         # old rows 0 to 3, the new row, the query; written: row 4, and 5 scores for each of 2
         read=2 * (4 + 1 + 1) * 64, write=2 * 64 + 2 * 5 * 4, flops={"fp32": 2 * 2 * 5 * 16}),
    Case("updated in place beside another result", in_place_add, (t(4, 8), t(4, 8)),
         # x and y; the new x and one sum
         read=256, write=128 + 4),
    Case("updated in place and returned", in_place_and_returned, (t(4, 8), t(4, 8)),
         read=256, write=128),
    Case("rows put by known indices", lambda x, v, i: x.index_copy(0, i, v),
         (t(8, 4), t(2, 4), torch.tensor([1, 6])),
         # six old rows, two new ones
         read=6 * 16 + 2 * 16 + 16, write=8 * 16),
    Case("a tensor fills rows", lambda x, v, i: x.index_fill(0, i, v),
         (t(8, 4), t(1)[0], torch.tensor([0, 1])),
         # six old rows, the value, two indices
         read=6 * 16 + 4 + 16, write=8 * 16),
    Case("max pooling", lambda x: F.max_pool2d(x, 2), (t(1, 2, 4, 4),), read=128, write=32),
    Case("layer norm", lambda x, w, b: F.layer_norm(x, (8,), w, b), (t(4, 8), t(8), t(8)),
         read=(32 + 16) * 4, write=128),
    Case("layer norm of one row", lambda x: F.layer_norm(x, (8,))[1], (t(4, 8),), read=32, write=32),
    Case("group norm", lambda x, w: F.group_norm(x, 2, w), (t(2, 4, 3, 3), t(4)),
         read=(72 + 4) * 4, write=72 * 4),
    Case("softmax of one row", lambda x: torch.softmax(x, -1)[2], (t(4, 8),), read=32, write=32),
    Case("prefix of a cumulative sum", lambda x: torch.cumsum(x, -1)[:, :3], (t(4, 8),),
         read=4 * 3 * 4, write=48),
    Case("cross entropy with known targets", F.cross_entropy, (t(4, 8), torch.arange(4)),
         read=128 + 32, write=4),
    # ---- storage ----
    Case("two views of one storage", lambda a, b: a + b, (SQUARE, SQUARE.t()), read=256, write=256),
    Case("overlapping slices of one storage", lambda a, b: (a.sum(), b.sum()), (SQUARE[:5], SQUARE[3:]),
         read=256, write=8),
    Case("an expanded input", lambda a: a * 2, (torch.rand(1, 8).expand(100, 8),), read=32, write=3200),
    Case("a strided input", lambda a: a.sum(), (SQUARE[::2, ::2],), read=64, write=4),
    Case("tied weights under two names", lambda a, w, v: (a @ w) @ v.t(), (t(4, 8), SQUARE, SQUARE),
         read=128 + 256, write=128, flops={"fp32": 2 * 2 * 4 * 8 * 8}),
    Case("an output and a view of it", lambda a: (y := a * 2, y.t()), (SQUARE,), read=256, write=256),
    Case("experts that tokens are routed to", routed, (TOKENS, torch.eye(2), torch.rand(2, 2, 2)),
         # router 4·2·2, then each token once through its expert, 2·2
         read=(8 + 4 + 8) * 4, write=32, flops={"fp32": 2 * (16 + 16)}),
    # ---- precision ----
    Case("a cast does not widen", lambda a, b: a.float() @ b.float(),
         (t(4, 8, dtype=BF16), t(8, 4, dtype=BF16)), read=128, write=64, flops={"bf16": 256}),
    Case("the wider operand decides", lambda a, b: a.float() @ b, (t(4, 8, dtype=BF16), t(8, 4)),
         read=64 + 128, write=64, flops={"fp32": 256}),
    Case("a scalar does not decide", lambda a, b: (a * 0.5) @ b, (t(4, 8, dtype=F16), t(8, 4, dtype=F16)),
         read=128, write=32, flops={"fp16": 256}),
    Case("fp8 operands cast up", lambda a, b: a.to(BF16) @ b.to(BF16),
         (t(4, 8, dtype=FP8), t(8, 4, dtype=FP8)), read=64, write=32, flops={"fp8": 256}),
    Case("int8 weights with a scale", dequantised,
         (t(4, 64, dtype=BF16), t(64, 8, dtype=torch.int8), t(8, dtype=BF16)),
         read=512 + 512 + 16, write=64, flops={"bf16": 2 * 4 * 64 * 8}),
    Case("fp8 weights with block scales", block_dequantised,
         (t(4, 64, dtype=FP8), t(64, 8, dtype=FP8), t(4, 8)),
         # scales are equal over 16 products: applied after they are summed
         read=256 + 512 + 128, write=128, flops={"fp8": 2 * 4 * 64 * 8}),
    Case("a scale along the summed rank cannot be factored out", channel_scaled,
         (t(4, 64, dtype=BF16), t(64), t(64, 8, dtype=BF16)),
         read=512 + 256 + 1024, write=128, flops={"fp32": 2 * 4 * 64 * 8}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_demand_is_exact(case: Case, demand_of: Callable[..., Demand]) -> None:
    demand = demand_of(case.function, *case.inputs)
    assert demand.matrix_flops == case.flops
    assert demand.dram_read_bytes == case.read
    assert demand.dram_write_bytes == case.write
