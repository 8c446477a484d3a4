"""GroupNorm and SiLU of a feature map, as before each convolution of a diffusion U-Net."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="groupnorm_silu_fp16_c640",
    tier="L1",
    family="norm",
    models=(
        Model(
            "stabilityai/stable-diffusion-xl-base-1.0",
            "unet: block_out_channels 320, 640, 1280, norm_num_groups 32, norm_eps 1e-5",
            "diffusion", read="Stability-AI/generative-models: sd_xl_base.yaml",
        ),
        Model(
            "stabilityai/stable-diffusion-xl-refiner-1.0",
            "unet: block_out_channels 384, 768, 1536, norm_num_groups 32, norm_eps 1e-5",
            "diffusion", read="Stability-AI/generative-models: sd_xl_refiner.yaml",
        ),
    ),
    axes={"batch": var, "channels": 640, "height": var, "width": var, "groups": 32},
    inputs={
        "x": activation("float16[batch, channels, height, width]", draw.normal(mean=0.2, std=1.5), EVERY_KIND),
        "gain": weight("float16[channels]", draw.norm_weight()),
        "bias": weight("float16[channels]", draw.normal(std=0.2)),
        "groups": scalar("int32", "groups"),
    },
    outputs={"y": "float16[batch, channels, height, width]"},
    workloads=rows(
        "batch channels height width",
        (1, 640, 64, 64), (2, 640, 64, 64), (2, 640, 32, 32), (2, 320, 128, 128),
        (2, 1280, 32, 32), (1, 960, 64, 64), (4, 640, 48, 80), (4, 320, 96, 160),
        (8, 640, 64, 64), (8, 1280, 16, 16), (3, 1920, 32, 32), (16, 320, 64, 64),
        (16, 640, 56, 72), (32, 1280, 32, 32), (64, 640, 32, 32), (5, 768, 60, 33),
    ),
    smoke=rows("batch channels height width groups", (2, 64, 5, 7, 8), (1, 320, 16, 12, 32)),
)  # fmt: skip

import torch


def run(x, gain, bias, groups):
    batch, channels = x.shape[:2]
    grouped = x.to(torch.float32).reshape(batch, groups, -1)
    centred = grouped - grouped.mean(dim=-1, keepdim=True)
    variance = centred.pow(2).mean(dim=-1, keepdim=True)
    normalised = (centred * torch.rsqrt(variance + 1e-5)).view(x.shape)
    shaped = (1, channels, 1, 1)
    y = normalised * gain.to(torch.float32).view(shaped) + bias.to(torch.float32).view(shaped)
    return (y * torch.sigmoid(y)).to(x.dtype)
