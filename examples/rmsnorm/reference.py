import torch


def run(hidden_states, weight, eps):
    values = hidden_states.to(torch.float32)
    mean_square = values.pow(2).mean(dim=-1, keepdim=True)
    normalized = values * torch.rsqrt(mean_square + eps)
    return (normalized * weight.to(torch.float32)).to(hidden_states.dtype)
