"""Wrong: the activation is applied to the second half and the first half is left linear."""

import torch.nn.functional as F


def run(gate_up):
    gate, up = gate_up.chunk(2, dim=-1)
    return gate * F.silu(up)
