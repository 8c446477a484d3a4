import torch


def run(query, key, value):
    length, head_dim = query.shape[2], query.shape[3]
    group = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(group, dim=1)
    value = value.repeat_interleave(group, dim=1)
    scores = torch.matmul(query.to(torch.float32), key.to(torch.float32).transpose(2, 3))
    scores = scores * head_dim**-0.5
    visible = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
    scores = scores.masked_fill(~visible, float("-inf"))
    probabilities = torch.softmax(scores, dim=-1).to(query.dtype)
    return torch.matmul(probabilities, value)
