import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.ConvTranspose2d(
            32,
            64,
            (3, 5),
            stride=(2, 3),
            padding=(1, 2),
            dilation=(2, 1),
            groups=4,
            output_padding=(1, 0),
        )

    def forward(self, x):
        return self.m(x)


def get_inputs():
    x = torch.rand(16, 32, 128, 256)
    return [x]


def get_init_inputs():
    return []
