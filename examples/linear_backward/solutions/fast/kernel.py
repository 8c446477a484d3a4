"""All sequences as one: the weight's gradient is a single product, with no per-sequence partial results."""

import torch


def run(grad_output, hidden_states, weight, grad_input, grad_weight, grad_bias):
    rows = grad_output.flatten(0, 1)
    torch.mm(rows, weight, out=grad_input.view(-1, weight.shape[1]))
    torch.mm(rows.t(), hidden_states.flatten(0, 1), out=grad_weight)
    torch.sum(rows, dim=0, out=grad_bias)
