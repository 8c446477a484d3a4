# ruff: noqa: E741
import torch
import torch.nn as nn
import torch.utils.checkpoint


class Model(nn.Module):
    def __init__(self, d=96, h=3, w=7, shift=3, res=56):
        super().__init__()
        self.h, self.w, self.s, self.res = h, w, shift, res
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.table = nn.Parameter(torch.zeros((2 * w - 1) ** 2, h))
        c = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
        r = (c[:, :, None] - c[:, None, :]).permute(1, 2, 0).contiguous()
        r += w - 1
        r[:, :, 0] *= 2 * w - 1
        self.register_buffer("rel", r.sum(-1))
        m = torch.zeros(1, res, res, 1)
        k = 0
        for a in (slice(0, -w), slice(-w, -shift), slice(-shift, None)):
            for b in (slice(0, -w), slice(-w, -shift), slice(-shift, None)):
                m[:, a, b] = k
                k += 1
        mw = self.part(m).view(-1, w * w)
        am = mw.unsqueeze(1) - mw.unsqueeze(2)
        self.register_buffer("mask", am.masked_fill(am != 0, -100.0).masked_fill(am == 0, 0.0))

    def part(self, x):
        b, h, w, c = x.shape
        return (
            x.view(b, h // self.w, self.w, w // self.w, self.w, c)
            .permute(0, 1, 3, 2, 4, 5)
            .contiguous()
            .view(-1, self.w, self.w, c)
        )

    def forward(self, x):
        b, l, c = x.shape
        y = self.n1(x).view(b, self.res, self.res, c)
        y = torch.roll(y, (-self.s, -self.s), (1, 2))
        y = self.part(y).view(-1, self.w**2, c)
        n, t, _ = y.shape
        q, k, v = self.qkv(y).reshape(n, t, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4)
        a = (q * (c // self.h) ** -0.5) @ k.transpose(-2, -1)
        a = a + self.table[self.rel.view(-1)].view(t, t, -1).permute(
            2, 0, 1
        ).contiguous().unsqueeze(0)
        nw = self.mask.shape[0]
        a = a.view(n // nw, nw, self.h, t, t) + self.mask.unsqueeze(1).unsqueeze(0)
        a = a.view(-1, self.h, t, t).softmax(-1)
        y = self.o((a @ v).transpose(1, 2).reshape(n, t, c))
        g = self.res // self.w
        y = (
            y.view(b, g, g, self.w, self.w, c)
            .permute(0, 1, 3, 2, 4, 5)
            .contiguous()
            .view(b, self.res, self.res, c)
        )
        y = torch.roll(y, (self.s, self.s), (1, 2)).view(b, l, c)
        x = x + y
        return x + self.mlp(self.n2(x))


def get_inputs():
    return [torch.rand(64, 3136, 96)]


def get_init_inputs():
    return []
