import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        c = torch.complex(x, y)
        w = torch.polar(x.abs(), y)
        z = torch.view_as_complex(torch.stack([x, y], -1))
        return torch.view_as_real(c * w + z.conj()), (c @ w.mT).abs(), c.angle()


def get_inputs():
    x = torch.rand(16, 512, 512)
    y = torch.rand(16, 512, 512)
    return [x, y]


def get_init_inputs():
    return []
