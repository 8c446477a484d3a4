"""Operators, gradients, modes and modules: the captured graph gives what the program gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Case] = {}


def rand(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) * 7 + len(shape))
    return torch.randn(shape, generator=generator)


def case(*inputs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = (function, inputs)
        return function

    return register


# -- products ------------------------------------------------------------------------------------


@case(rand(4, 8), rand(6, 8), rand(6))
def linear_with_bias(x, w, b):
    return F.linear(x, w, b)


@case(rand(2, 3, 4), rand(2, 4, 5))
def batched_product(x, y):
    return x @ y


@case(rand(2, 3, 4), rand(2, 5, 4), rand(4))
def einsum_with_three_operands(x, y, z):
    return torch.einsum("bik,bjk,k->ij", x, y, z)


@case(rand(2, 6, 9, 9), rand(6, 2, 3, 3), rand(6))
def grouped_convolution(x, w, b):
    return F.conv2d(x, w, b, stride=2, padding=1, dilation=1, groups=3)


@case(rand(1, 4, 5, 5), rand(4, 3, 3, 3))
def transposed_convolution(x, w):
    return F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)


@case(rand(2, 3, 12), rand(5, 3, 3))
def convolution_1d_same_padding(x, w):
    return F.conv1d(x, w, padding="same")


# -- attention -----------------------------------------------------------------------------------


@case(rand(2, 4, 6, 8), rand(2, 4, 6, 8), rand(2, 4, 6, 8))
def causal_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@case(rand(2, 4, 5, 8), rand(2, 2, 7, 8), rand(2, 2, 7, 6))
def grouped_query_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True, scale=0.3)


@case(rand(2, 2, 5, 8), rand(2, 2, 5, 8), rand(2, 2, 5, 8))
def attention_with_band_mask(q, k, v):
    i = torch.arange(q.shape[2])
    mask = (i[:, None] - i[None, :]).abs() < 2
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@case(rand(2, 5, 16), rand(48, 16))
def attention_written_out(x, w):
    b, t, c = x.shape
    q, k, v = F.linear(x, w).split(c, dim=2)
    q, k, v = (y.view(b, t, 4, c // 4).transpose(1, 2) for y in (q, k, v))
    scores = (q @ k.transpose(-2, -1)) / (c // 4) ** 0.5
    bias = torch.tril(torch.ones(t, t)).view(1, 1, t, t)
    scores = scores.masked_fill(bias[:, :, :t, :t] == 0, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, t, c)


@case(rand(2, 2, 5, 8).requires_grad_(), rand(2, 2, 5, 8), rand(2, 2, 5, 8))
def attention_with_gradient(q, k, v):
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    (grad,) = torch.autograd.grad(out.sum(), q)
    return out, grad


# -- gradients -----------------------------------------------------------------------------------


@case(rand(4, 3), rand(5, 3))
def gradient_inside(x, w):
    x = x.detach().requires_grad_(True)
    w = w.detach().clone().requires_grad_(True)
    loss = F.layer_norm(F.gelu(F.linear(x, w)), (5,)).pow(2).mean()
    return torch.autograd.grad(loss, (x, w))


@case(rand(2, 3, 6, 6), rand(4, 3, 3, 3))
def backward_through_convolution(x, w):
    with torch.enable_grad():
        x = x.requires_grad_(True)
        w = w.requires_grad_(True)
        y = F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2)
        y.sigmoid().sum().backward()
    return x.grad, w.grad


@case(rand(4, 3))
def own_autograd_function(x):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y):
            ctx.save_for_backward(y)
            return y * y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return 2 * y * grad

    x = x.clone().requires_grad_(True)
    Square.apply(x).sum().backward()
    return x.grad


@case(rand(4, 3), rand(2, 3))
def training_step(x, w):
    w.requires_grad_(True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        F.mse_loss(x @ w.t(), torch.ones(4, 2)).backward()
        optimizer.step()
    return w.detach()


# -- devices, modes, dtypes ----------------------------------------------------------------------


@case(rand(4, 4))
@torch.no_grad()
def written_for_a_gpu(x):
    x = x.to("cuda").cuda()
    with torch.device("cuda"):
        ones = torch.ones(4)
    steps = torch.arange(4, device="cuda:0") + torch.zeros(4, device=x.device)
    torch.cuda.synchronize()
    place = torch.device("cuda", 0)
    assert x.device == place
    more = torch.full_like(x, 2, device=place) + torch.ones(4, pin_memory=True)
    return (x + steps.to(x.device, torch.float32) + ones + more.to(place)).cpu()


@case(rand(4, 4))
@torch.inference_mode()
def in_inference_mode(x):
    y = x @ x
    y[0] += 1
    return F.scaled_dot_product_attention(y[None], y[None], y[None])


@case(rand(4, 8))
def casts(x):
    y = x.half().to(torch.bfloat16).type(torch.float64).float()
    return y.to(torch.int32), x.bool(), x.to(torch.float8_e4m3fn).float(), y.type_as(x)


# -- the long tail -------------------------------------------------------------------------------


@case(rand(3, 7))
def reductions_and_scans(x):
    return (
        x.cumsum(1), x.flip(1).cumprod(1), x.argmax(1), x.max(1), x.std(1), x.norm(), x.logsumexp(1),
        x.var(0, keepdim=True), x.median(1), x.sort(1, descending=True), x.topk(2), x.amin(0), x.any(),
    )  # fmt: skip


@case(rand(4, 5), torch.tensor([0, 4, 2, 1]))
def losses(x, target):
    return (
        F.cross_entropy(x, target), F.nll_loss(x.log_softmax(1), target),
        F.kl_div(x.log_softmax(1), x.softmax(1), reduction="batchmean"),
        F.smooth_l1_loss(x, x * 2), F.binary_cross_entropy_with_logits(x, x.sigmoid()),
        F.triplet_margin_loss(x, x + 1, x - 1), F.cosine_similarity(x, x + 1),
        F.hinge_embedding_loss(x, torch.ones(4, 5)),
    )  # fmt: skip


@case(rand(2, 4, 8, 8))
def pooling_and_resizing(x):
    return (
        F.avg_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, return_indices=True), F.adaptive_avg_pool2d(x, 1),
        F.interpolate(x, scale_factor=2, mode="bilinear"), F.interpolate(x, size=4), F.unfold(x, 3),
        F.pixel_shuffle(x, 2), F.max_pool1d(x[0], 2), F.adaptive_max_pool2d(x, 2),
    )  # fmt: skip


@case(rand(2, 4, 6, 6))
def normalisations(x):
    return (
        F.batch_norm(x, torch.zeros(4), torch.ones(4), training=True), F.group_norm(x, 2),
        F.instance_norm(x), F.layer_norm(x, (6, 6)), F.rms_norm(x, (6,)), F.normalize(x, dim=1),
        F.local_response_norm(x, 3),
    )  # fmt: skip


@case(rand(10, 4), torch.tensor([[1, 9], [3, 3]]))
def embeddings(table, ids):
    return F.embedding(ids, table), F.embedding_bag(ids, table), F.one_hot(ids, 10), table[ids]


@case(rand(3, 5))
def activations(x):
    return [
        f(x)
        for f in (F.relu, F.gelu, F.silu, F.mish, F.elu, F.selu, F.softplus, F.hardtanh, F.hardswish,
                  F.leaky_relu, F.logsigmoid, F.softsign, F.tanhshrink, torch.erf, F.relu6, F.glu)
        if f is not F.glu or x.shape[1] % 2 == 0
    ]  # fmt: skip


@case(rand(2, 6, 4))
def selective_scan(x):
    decay = torch.exp(-F.softplus(x))
    state, out = torch.zeros(2, 4), []
    for t in range(x.shape[1]):
        state = decay[:, t] * state + x[:, t]
        out.append(state)
    chunk = torch.exp(torch.cumsum(x, 1)[:, :, None] - torch.cumsum(x, 1)[:, None]).tril()
    return torch.stack(out, 1), chunk


def _seeded(build: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return build().requires_grad_(False)


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(10, 3)
        self.cell = nn.LSTMCell(3, 3)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, _ = self.gru(y)
        return z, h, c, self.cell(z[0])


class _Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 4)
        self.tied = self.head
        self.encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    def forward(self, x):
        y = self.norm(self.conv(x)).relu().flatten(2).transpose(1, 2)
        return self.encoder(self.tied(self.head(y)))


CASES["recurrent_layers"] = (_seeded(_Recurrent), (rand(2, 3, 4),))
CASES["module_with_everything"] = (_seeded(_Everything), (rand(2, 3, 4, 4),))
CASES["attention_layer"] = (
    _seeded(lambda: nn.MultiheadAttention(8, 2, batch_first=True)),
    (rand(2, 5, 8), rand(2, 5, 8), rand(2, 5, 8)),
)


@pytest.mark.parametrize("name", CASES)
def test_replay_equals_program(name: str, assert_exact: Callable[..., None]) -> None:
    assert_exact(*CASES[name])
