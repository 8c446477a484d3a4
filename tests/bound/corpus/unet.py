# ruff: noqa: B905
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class DC(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(
            nn.Conv2d(i, o, 3, padding=1),
            nn.BatchNorm2d(o),
            nn.Softmax(dim=-1),
            nn.Conv2d(o, o, 3, padding=1),
            nn.BatchNorm2d(o),
            nn.Softmax(dim=-1),
        )


class Model(nn.Module):
    def __init__(self, i, o, f):
        super().__init__()
        self.enc = nn.ModuleList([DC(i, f), DC(f, 2 * f), DC(2 * f, 4 * f), DC(4 * f, 8 * f)])
        self.mid = DC(8 * f, 16 * f)
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * f * k, f * k, 2, 2) for k in (8, 4, 2, 1)])
        self.dec = nn.ModuleList([DC(2 * f * k, f * k) for k in (8, 4, 2, 1)])
        self.out = nn.Conv2d(f, o, 1)

    def forward(self, x):
        skips = []
        for e in self.enc:
            x = e(x)
            skips.append(x)
            x = F.max_pool2d(x, 2, 2)
        x = self.mid(x)
        for u, d, s in zip(self.up, self.dec, reversed(skips)):
            x = d(torch.cat([u(x), s], dim=1))
        return self.out(x)


def get_inputs():
    return [torch.rand(8, 8, 64, 512)]


def get_init_inputs():
    return [8, 4, 64]
