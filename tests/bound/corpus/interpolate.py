import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        a = F.interpolate(x, scale_factor=2, mode="nearest")
        b = F.interpolate(x, size=(512, 512), mode="bilinear", align_corners=True)
        c = F.interpolate(x, scale_factor=2.0, mode="bicubic")
        d = F.interpolate(x, scale_factor=0.5, mode="area")
        e = F.interpolate(x, size=(300, 200), mode="bilinear", antialias=True)
        return a + b + c, d, e


def get_inputs():
    x = torch.rand(4, 64, 256, 256)
    return [x]


def get_init_inputs():
    return []
