"""Right, but in float64, with the sums over positions taken one position after another."""

import torch


def run(grad_output, hidden_states, weight):
    gradients, inputs = grad_output.to(torch.float64), hidden_states.to(torch.float64)
    grad_input = torch.matmul(gradients, weight.to(torch.float64))
    grad_weight = torch.zeros_like(weight, dtype=torch.float64)
    grad_bias = torch.zeros(weight.shape[0], dtype=torch.float64, device=weight.device)
    for position in range(grad_output.shape[1]):
        grad_weight = grad_weight + gradients[:, position].t() @ inputs[:, position]
        grad_bias = grad_bias + gradients[:, position].sum(dim=0)
    return tuple(g.to(grad_output.dtype) for g in (grad_input, grad_weight, grad_bias))
