"""Kernels of torch and its libraries, each with the program that its bound is derived from.

A case's function is both: captured for the bound and run on the card, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

BF16, FP16, FP32, FP8 = torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn


@dataclass(frozen=True, slots=True)
class Arg:
    """One input: normal values, or whole numbers below ``below``."""

    shape: tuple[int, ...]
    dtype: torch.dtype = BF16
    below: int = 0
    channels_last: bool = False
    transposed: bool = False
    gradient: bool = False

    def make(self, device: str) -> torch.Tensor:
        generator = torch.Generator(device).manual_seed(7)
        if self.below:
            return torch.randint(
                self.below, self.shape, dtype=self.dtype, device=device, generator=generator
            )
        drawn = torch.randn(self.shape, device=device, generator=generator).to(self.dtype)
        if self.channels_last:
            drawn = drawn.contiguous(memory_format=torch.channels_last)
        if self.transposed:
            drawn = drawn.t().contiguous().t()
        return drawn.requires_grad_(self.gradient)

    def stand_in(self) -> torch.Tensor:
        """For a bound alone: layout without contents, but real indices, drawn on the CPU."""
        if self.below:
            return self.make("cpu")
        form = torch.channels_last if self.channels_last else torch.contiguous_format
        empty = torch.empty(self.shape, dtype=self.dtype, device="meta", memory_format=form)
        if self.transposed:
            empty = torch.empty(self.shape[::-1], dtype=self.dtype, device="meta").t()
        return empty.requires_grad_(self.gradient)


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel on one shape."""

    family: str
    name: str
    function: Callable[..., Any]
    args: tuple[Arg, ...]
    matrix_class: str = ""
    """The class that a global flag lets the library use for fp32 products; otherwise as declared."""


def cases() -> Iterator[Case]:
    for family in (
        copies,
        elementwise,
        reductions,
        norms,
        matmuls,
        convolutions,
        attention,
        gathers,
    ):
        yield from family()


def copies() -> Iterator[Case]:
    for mib in (64, 256, 1024):
        yield Case("copy", f"clone bf16 {mib} MiB", torch.clone, (Arg((mib << 19,)),))
    yield Case("copy", "clone fp32 256 MiB", torch.clone, (Arg((64 << 20,), FP32),))
    yield Case(
        "copy", "cast fp32 to bf16, 256 MiB", lambda x: x.to(BF16), (Arg((64 << 20,), FP32),)
    )
    yield Case("copy", "cast bf16 to fp32, 256 MiB", lambda x: x.float(), (Arg((128 << 20,)),))
    yield Case(
        "copy", "transposed copy fp32 16384x16384", lambda x: x.t().contiguous(),
        (Arg((16384, 16384), FP32),),
    )  # fmt: skip
    yield Case(
        "copy", "concatenation of 2, bf16 512 MiB", lambda x, y: torch.cat([x, y], 1),
        (Arg((16384, 8192)), Arg((16384, 8192))),
    )  # fmt: skip
    yield Case("copy", "fill fp32 1 GiB", torch.zeros_like, (Arg((256 << 20,), FP32),))
    yield Case("copy", "every 2nd row bf16", lambda x: x[::2].clone(), (Arg((65536, 8192)),))


def elementwise() -> Iterator[Case]:
    for mib in (64, 512):
        big = Arg((mib << 19,))
        yield Case("elementwise", f"add bf16 {mib} MiB", torch.add, (big, big))
    big = Arg((128 << 20,))
    yield Case("elementwise", "gelu bf16 256 MiB", F.gelu, (big,))
    yield Case("elementwise", "exp fp32 512 MiB", torch.exp, (Arg((128 << 20,), FP32),))
    yield Case("elementwise", "silu and product bf16", lambda x, y: F.silu(x) * y, (big, big))
    yield Case(
        "elementwise", "add with broadcast row", torch.add, (Arg((32768, 8192)), Arg((8192,)))
    )


def reductions() -> Iterator[Case]:
    table = Arg((32768, 8192), FP32)
    yield Case("reduction", "sum of all, fp32 1 GiB", torch.sum, (table,))
    yield Case("reduction", "sum of rows, fp32 1 GiB", lambda x: x.sum(-1), (table,))
    yield Case("reduction", "sum of columns, fp32 1 GiB", lambda x: x.sum(0), (table,))
    yield Case("reduction", "largest of rows, bf16", lambda x: x.amax(-1), (Arg((32768, 8192)),))
    yield Case("reduction", "argmax of rows, bf16", lambda x: x.argmax(-1), (Arg((32768, 8192)),))
    yield Case(
        "reduction", "cumulative sum, fp32", lambda x: x.cumsum(-1), (Arg((8192, 8192), FP32),)
    )
    yield Case(
        "reduction", "logsumexp, fp32", lambda x: x.logsumexp(-1), (Arg((8192, 32768), FP32),)
    )
    yield Case(
        "reduction",
        "top 8 of 256, fp32",
        lambda x: x.topk(8, -1).values,
        (Arg((262144, 256), FP32),),
    )
    for rows, columns in ((65536, 1024), (16384, 8192), (4096, 65536)):
        softmax = Arg((rows, columns))
        yield Case(
            "reduction", f"softmax bf16 {rows}x{columns}", lambda x: x.softmax(-1), (softmax,)
        )


def norms() -> Iterator[Case]:
    for rows, width in ((65536, 1024), (32768, 4096), (16384, 8192)):
        args = (Arg((rows, width)), Arg((width,)), Arg((width,)))
        yield Case("norm", f"layer norm bf16 {rows}x{width}", layer_norm, args)
    for rows, width in ((32768, 4096), (16384, 8192)):
        args = (Arg((rows, width)), Arg((width,)))
        yield Case("norm", f"rms norm bf16 {rows}x{width}", rms_norm, args)
    image = Arg((32, 256, 64, 64), BF16)
    yield Case("norm", "group norm bf16", lambda x, w, b: F.group_norm(x, 32, w, b),
               (image, Arg((256,)), Arg((256,))))  # fmt: skip
    leaf = Arg((32768, 4096), gradient=True)
    yield Case("norm", "layer norm, gradient of the input", layer_norm_backward,
               (leaf, Arg((4096,)), Arg((4096,)), Arg((32768, 4096))))  # fmt: skip


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight)


def layer_norm_backward(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, upstream: torch.Tensor
) -> torch.Tensor:
    return torch.autograd.grad(layer_norm(x, weight, bias), x, upstream)[0]


def matmuls() -> Iterator[Case]:
    shapes = ((2048,) * 3, (4096,) * 3, (8192,) * 3, (16384, 1024, 16384), (16, 8192, 8192))
    for m, k, n in (*shapes, (128, 8192, 28672), (1, 16384, 16384)):
        yield Case("matmul", f"bf16 {m}x{k}x{n}", torch.matmul, (Arg((m, k)), Arg((k, n))))
    yield Case("matmul", "fp16 8192^3", torch.matmul, (Arg((8192, 8192), FP16),) * 2)
    for size in (4096, 8192):
        pair = (Arg((size, size), FP32),) * 2
        yield Case("matmul", f"fp32 {size}^3", torch.matmul, pair)
        yield Case("matmul", f"tf32 {size}^3", torch.matmul, pair, matrix_class="tf32")
    for m, k, n in ((4096,) * 3, (8192,) * 3, (16384, 8192, 8192), (16, 8192, 8192)):
        args = (Arg((m, k), FP8), Arg((k, n), FP8, transposed=True))
        yield Case("matmul", f"fp8 {m}x{k}x{n}", scaled_matmul, args)
    yield Case("matmul", "batched bf16 64x2048^3", torch.bmm, (Arg((64, 2048, 2048)),) * 2)
    yield Case("matmul", "linear with bias bf16", F.linear,
               (Arg((8192, 4096)), Arg((14336, 4096)), Arg((14336,))))  # fmt: skip


def scaled_matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    one = torch.ones((), dtype=FP32, device=x.device)
    return torch._scaled_mm(x, y, scale_a=one, scale_b=one, out_dtype=BF16)


def convolutions() -> Iterator[Case]:
    image = Arg((64, 256, 56, 56), BF16, channels_last=True)
    same = {"padding": 1}
    yield Case("convolution", "3x3 bf16 256 channels", lambda x, w: F.conv2d(x, w, **same),
               (image, Arg((256, 256, 3, 3), BF16, channels_last=True)))  # fmt: skip
    yield Case("convolution", "1x1 bf16 256 to 1024", F.conv2d,
               (image, Arg((1024, 256, 1, 1), BF16, channels_last=True)))  # fmt: skip
    yield Case("convolution", "3x3 stride 2 bf16", lambda x, w: F.conv2d(x, w, stride=2, **same),
               (image, Arg((512, 256, 3, 3), BF16, channels_last=True)))  # fmt: skip
    yield Case("convolution", "depthwise 7x7 bf16", lambda x, w: F.conv2d(x, w, padding=3, groups=256),
               (image, Arg((256, 1, 7, 7), BF16)))  # fmt: skip
    plain = Arg((16, 128, 56, 56), FP32)
    yield Case("convolution", "3x3 fp32 128 channels", lambda x, w: F.conv2d(x, w, **same),
               (plain, Arg((128, 128, 3, 3), FP32)))  # fmt: skip
    yield Case("convolution", "1d, 3 taps, bf16", lambda x, w: F.conv1d(x, w, padding=1),
               (Arg((32, 512, 4096)), Arg((512, 512, 3))))  # fmt: skip


def attention() -> Iterator[Case]:
    for batch, heads, length, width, causal in (
        (4, 32, 4096, 128, True), (4, 32, 4096, 128, False), (1, 16, 16384, 128, True),
        (8, 16, 2048, 64, True),
    ):  # fmt: skip
        args = (Arg((batch, heads, length, width)),) * 3
        name = f"{'causal' if causal else 'full'} {batch}x{heads}x{length}x{width}"
        yield Case("attention", name, causal_attention if causal else full_attention, args)
    yield Case("attention", "grouped heads 32 to 8, causal", grouped_attention,
               (Arg((4, 32, 4096, 128)), Arg((4, 8, 4096, 128)), Arg((4, 8, 4096, 128))))  # fmt: skip
    yield Case("attention", "one query, 32768 keys", full_attention,
               (Arg((16, 8, 1, 128)), Arg((16, 8, 32768, 128)), Arg((16, 8, 32768, 128))))  # fmt: skip
    leaf = Arg((4, 16, 4096, 128), gradient=True)
    yield Case("attention", "causal, all gradients", attention_backward,
               (leaf, leaf, leaf, Arg((4, 16, 4096, 128))))  # fmt: skip


def full_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def causal_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def grouped_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def attention_backward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, upstream: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad(causal_attention(q, k, v), (q, k, v), upstream)


def gathers() -> Iterator[Case]:
    rows = Arg((131072,), torch.int64, below=1_000_000)
    table = Arg((1_000_000, 1024))
    yield Case("gather", "131072 rows of 2 KiB of a million", lambda t, i: t[i], (table, rows))
    yield Case(
        "gather", "embedding of 131072 tokens", lambda i, t: F.embedding(i, t), (rows, table)
    )
    yield Case("gather", "gather along rows, fp32", lambda x, i: x.gather(1, i),
               (Arg((8192, 16384), FP32), Arg((8192, 4096), torch.int64, below=16384)))  # fmt: skip
    yield Case("gather", "scatter-add of rows, fp32", lambda x, i, t: t.index_add(0, i, x),
               (Arg((65536, 1024), FP32), Arg((65536,), torch.int64, below=131072),
                Arg((131072, 1024), FP32)))  # fmt: skip
    yield Case("gather", "cross entropy, 128256 classes", F.cross_entropy,
               (Arg((4096, 128256)), Arg((4096,), torch.int64, below=128256)))  # fmt: skip
