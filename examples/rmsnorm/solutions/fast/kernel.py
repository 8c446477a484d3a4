"""Blocks of rows that stay in the core's cache on a CPU; one fused call on a GPU."""

import torch
import torch.nn.functional as F

ROWS = 32
"""32 rows of 4096 floats are 512 KiB: half of a core's L2 on current server CPUs."""


def run(hidden_states, weight, eps, output):
    if hidden_states.is_cuda:
        output.copy_(F.rms_norm(hidden_states, weight.shape, weight, eps))
        return
    scale = weight.float()
    width = hidden_states.shape[1]
    for rows, target in zip(hidden_states.split(ROWS), output.split(ROWS), strict=True):
        values = rows.float()
        norm = torch.linalg.vector_norm(values, dim=-1, keepdim=True)
        inverse = torch.rsqrt(norm.square_().div_(width).add_(eps))
        torch.mul(values.mul_(inverse), scale, out=target)
