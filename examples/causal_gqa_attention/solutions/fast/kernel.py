"""The library's fused attention on a GPU. On a CPU, blocks of queries: keys that no query of a block may see
are left out, and a key head is shared among the queries of its group, so that nothing is repeated."""

import torch
import torch.nn.functional as F

BLOCK = 64


def run(query, key, value, output):
    if query.is_cuda:
        output.copy_(
            F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        )
        return
    batch, heads, length, head_dim = query.shape
    kv_heads = key.shape[1]
    group = heads // kv_heads
    query = query.view(batch * kv_heads, group, length, head_dim)
    output = output.view(batch * kv_heads, group, length, head_dim)
    keys = key.float().view(batch * kv_heads, length, head_dim).mul_(head_dim**-0.5).transpose(1, 2)
    values = value.view(batch * kv_heads, length, head_dim)
    for start in range(0, length, BLOCK):
        end = min(start + BLOCK, length)
        rows = query[:, :, start:end].float().reshape(batch * kv_heads, -1, head_dim)
        scores = torch.bmm(rows, keys[:, :, :end]).view(-1, group, end - start, end)
        hidden = torch.ones(end - start, end, dtype=torch.bool).triu_(start + 1)
        weights = scores.masked_fill_(hidden, float("-inf")).softmax(dim=-1).to(query.dtype)
        mixed = torch.bmm(weights.view(batch * kv_heads, -1, end), values[:, :end])
        output[:, :, start:end] = mixed.view(-1, group, end - start, head_dim)
