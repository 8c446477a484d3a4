"""Right, but every step is a pass of its own in float64."""

import torch


def run(hidden_states, weight, eps):
    values = hidden_states.to(torch.float64)
    squares = values * values
    mean_square = squares.sum(dim=-1, keepdim=True) / values.shape[-1]
    root = torch.sqrt(mean_square + eps)
    normalized = values / root.expand_as(values)
    scaled = normalized * weight.to(torch.float64).expand_as(values)
    return scaled.to(hidden_states.dtype)
