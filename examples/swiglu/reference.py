import torch


def run(gate_up):
    gate, up = gate_up.to(torch.float32).chunk(2, dim=-1)
    activated = gate * torch.sigmoid(gate)
    return (activated * up).to(gate_up.dtype)
