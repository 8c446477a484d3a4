"""Right, but in float64, with the sums over positions taken in eight steps."""

import torch

STEPS = 8


def run(grad_output, hidden_states, weight):
    gradients, inputs = grad_output.to(torch.float64), hidden_states.to(torch.float64)
    grad_input = torch.matmul(gradients, weight.to(torch.float64))
    grad_weight = torch.zeros_like(weight, dtype=torch.float64)
    grad_bias = torch.zeros(weight.shape[0], dtype=torch.float64, device=weight.device)
    for rows, columns in zip(gradients.chunk(STEPS, 1), inputs.chunk(STEPS, 1), strict=True):
        grad_weight = grad_weight + rows.flatten(0, 1).t() @ columns.flatten(0, 1)
        grad_bias = grad_bias + rows.sum(dim=(0, 1))
    return tuple(g.to(grad_output.dtype) for g in (grad_input, grad_weight, grad_bias))
