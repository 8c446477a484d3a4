# ruff: noqa: E731, E741
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class RMS(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        dt = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dt)


def rot(x):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-b, a), dim=-1)


class Model(nn.Module):
    def __init__(self, d=4096, h=32, kv=8, f=14336):
        super().__init__()
        self.h, self.kv, self.hd = h, kv, d // h
        self.n1, self.n2 = RMS(d), RMS(d)
        L = lambda a, b: nn.Linear(a, b, bias=False)
        self.q, self.k, self.v, self.o, self.g, self.u, self.d = (
            L(d, d),
            L(d, kv * self.hd),
            L(d, kv * self.hd),
            L(d, d),
            L(d, f),
            L(d, f),
            L(f, d),
        )
        self.register_buffer(
            "inv",
            1.0 / (500000.0 ** (torch.arange(0, self.hd, 2).float() / self.hd)),
            persistent=False,
        )
        self.to(torch.bfloat16)

    def forward(self, x):
        b, t, _ = x.shape
        pos = torch.arange(t, device=x.device)[None]
        with torch.autocast(device_type="cuda", enabled=False):
            fr = (
                self.inv[None, :, None].float().expand(b, -1, 1)
                @ pos[:, None, :].float().expand(b, -1, -1)
            ).transpose(1, 2)
            e = torch.cat((fr, fr), dim=-1)
            cos, sin = e.cos().to(x.dtype)[:, None], e.sin().to(x.dtype)[:, None]
        y = self.n1(x)
        q, k, v = (l(y).view(b, t, -1, self.hd).transpose(1, 2) for l in (self.q, self.k, self.v))
        q, k = q * cos + rot(q) * sin, k * cos + rot(k) * sin
        n = self.h // self.kv
        k, v = (
            z[:, :, None].expand(b, self.kv, n, t, self.hd).reshape(b, self.h, t, self.hd)
            for z in (k, v)
        )
        m = torch.full((t, t), torch.finfo(x.dtype).min, dtype=x.dtype, device=x.device).triu(1)
        a = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.hd) + m[None, None]
        a = F.softmax(a, dim=-1, dtype=torch.float32).to(q.dtype)
        x = x + self.o((a @ v).transpose(1, 2).contiguous().reshape(b, t, -1))
        y = self.n2(x)
        return x + self.d(F.silu(self.g(y)) * self.u(y))


def get_inputs():
    return [torch.randn(2, 2048, 4096, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
