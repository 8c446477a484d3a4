import torch


def run(grad_output, hidden_states, weight):
    grad_input = torch.matmul(grad_output, weight)
    per_sequence = torch.matmul(grad_output.transpose(1, 2), hidden_states)
    grad_weight = per_sequence.sum(dim=0)
    grad_bias = grad_output.sum(dim=(0, 1))
    return grad_input, grad_weight, grad_bias
