"""Wrong: the bias is meant for choosing only, but the weights are taken from the biased scores."""

import torch

GROUPS, KEPT, TOP_K = 8, 4, 8


def run(router_logits, correction_bias, scaling):
    tokens, experts = router_logits.shape
    biased = torch.sigmoid(router_logits) + correction_bias
    group_scores = biased.view(tokens, GROUPS, -1).topk(2, dim=-1).values.sum(dim=-1)
    best = group_scores.topk(KEPT, dim=-1).indices
    kept = torch.zeros_like(group_scores, dtype=torch.bool).scatter(1, best, True)
    masked = biased.masked_fill(~kept.repeat_interleave(experts // GROUPS, dim=1), float("-inf"))
    raw, chosen = masked.topk(TOP_K, dim=-1)
    return chosen.to(torch.int32), raw / raw.sum(dim=-1, keepdim=True) * scaling
