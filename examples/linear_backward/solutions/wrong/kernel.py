"""Wrong: the product over positions leaves out the last step."""

import torch


def run(grad_output, hidden_states, weight):
    rows, inputs = grad_output.flatten(0, 1), hidden_states.flatten(0, 1)
    steps = rows.shape[0] - 1
    grad_weight = rows[:steps].t() @ inputs[:steps]
    return torch.matmul(grad_output, weight), grad_weight, rows.sum(dim=0)
