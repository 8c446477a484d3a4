"""Right, but with full sorts where a few best are wanted."""

import torch

GROUPS, KEPT, TOP_K = 8, 4, 8


def run(router_logits, correction_bias, scaling):
    tokens, experts = router_logits.shape
    scores = torch.sigmoid(router_logits)
    biased = (scores + correction_bias).view(tokens, GROUPS, experts // GROUPS)
    best_two = biased.sort(dim=2, descending=True).values[:, :, :2].sum(dim=2)
    rank_of_group = best_two.argsort(dim=1, descending=True).argsort(dim=1)
    dropped = (rank_of_group >= KEPT).unsqueeze(-1)
    masked = biased.masked_fill(dropped, float("-inf")).view(tokens, experts)
    chosen = masked.argsort(dim=1, descending=True)[:, :TOP_K]
    weights = scores.gather(1, chosen)
    return chosen.to(torch.int32), weights / weights.sum(dim=1, keepdim=True) * scaling
