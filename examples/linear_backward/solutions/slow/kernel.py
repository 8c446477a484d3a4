"""Right, but the sums over positions are taken one position after another."""

import torch


def run(grad_output, hidden_states, weight):
    grad_input = torch.stack([torch.matmul(sequence, weight) for sequence in grad_output])
    grad_weight = torch.zeros_like(weight)
    grad_bias = torch.zeros(weight.shape[0], device=weight.device)
    for position in range(grad_output.shape[1]):
        grad_weight = grad_weight + grad_output[:, position].t() @ hidden_states[:, position]
        grad_bias = grad_bias + grad_output[:, position].sum(dim=0)
    return grad_input, grad_weight, grad_bias
