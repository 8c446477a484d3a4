"""Right, but one query position at a time."""

import torch


def run(query, key, value):
    group = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(group, dim=1).float()
    value = value.repeat_interleave(group, dim=1).float()
    rows = []
    for position in range(query.shape[2]):
        seen = slice(0, position + 1)
        scores = (key[:, :, seen] * query[:, :, position : position + 1].float()).sum(dim=-1)
        weights = torch.softmax(scores * query.shape[3] ** -0.5, dim=-1)
        rows.append((weights.unsqueeze(-1) * value[:, :, seen]).sum(dim=2))
    return torch.stack(rows, dim=2).to(query.dtype)
