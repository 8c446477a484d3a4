# ruff: noqa: E731
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class Model(nn.Module):
    def __init__(self, d=512, h=8, k=31):
        super().__init__()
        ff = lambda: nn.Sequential(
            nn.LayerNorm(d),
            nn.Linear(d, 4 * d),
            nn.SiLU(),
            nn.Dropout(0.1),
            nn.Linear(4 * d, d),
            nn.Dropout(0.1),
        )
        self.f1, self.f2, self.na, self.nc, self.n = (
            ff(),
            ff(),
            nn.LayerNorm(d),
            nn.LayerNorm(d),
            nn.LayerNorm(d),
        )
        self.h, self.qkv, self.pos, self.o = (
            h,
            nn.Linear(d, 3 * d),
            nn.Linear(d, d, bias=False),
            nn.Linear(d, d),
        )
        self.u, self.v = nn.Parameter(torch.zeros(h, d // h)), nn.Parameter(torch.zeros(h, d // h))
        self.pw1, self.dw, self.bn, self.pw2 = (
            nn.Conv1d(d, 2 * d, 1),
            nn.Conv1d(d, d, k, padding=(k - 1) // 2, groups=d),
            nn.BatchNorm1d(d),
            nn.Conv1d(d, d, 1),
        )

    def shift(self, x):
        b, h, q, p = x.shape
        x = F.pad(x, (1, 0)).view(b, h, -1, q)
        return x[:, :, 1:].view(b, h, q, p)[:, :, :, :q]

    def forward(self, x, pe):
        b, t, d = x.shape
        x = x + 0.5 * self.f1(x)
        q, k, v = self.qkv(self.na(x)).view(b, t, 3, self.h, -1).unbind(2)
        p = self.pos(pe).view(1, -1, self.h, d // self.h).transpose(1, 2)
        ac = torch.matmul((q + self.u).transpose(1, 2), k.permute(0, 2, 3, 1))
        bd = self.shift(torch.matmul((q + self.v).transpose(1, 2), p.transpose(-2, -1)))
        a = ((ac + bd) / math.sqrt(d // self.h)).softmax(-1)
        x = x + self.o((a @ v.transpose(1, 2)).transpose(1, 2).reshape(b, t, d))
        y = F.glu(self.pw1(self.nc(x).transpose(1, 2)), dim=1)
        x = x + self.pw2(F.silu(self.bn(self.dw(y)))).transpose(1, 2)
        return self.n(x + 0.5 * self.f2(x))


def get_inputs():
    return [torch.randn(16, 500, 512), torch.randn(1, 999, 512)]


def get_init_inputs():
    return []
