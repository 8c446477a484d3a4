"""Two maxima a group instead of a sort, and a final selection among the kept groups only."""

import torch

GROUPS, KEPT, TOP_K = 8, 4, 8


def run(router_logits, correction_bias, scaling, chosen, weights):
    tokens, experts = router_logits.shape
    size = experts // GROUPS
    scores = torch.sigmoid(router_logits)
    in_groups = (scores + correction_bias).view(tokens, GROUPS, size)
    first, place = in_groups.max(dim=-1, keepdim=True)
    second = in_groups.scatter(2, place, float("-inf")).amax(dim=-1)
    groups = first.squeeze(-1).add_(second).topk(KEPT, dim=-1, sorted=False).indices
    kept = in_groups.gather(1, groups.unsqueeze(-1).expand(tokens, KEPT, size)).view(tokens, -1)
    local = kept.topk(TOP_K, dim=-1).indices
    experts_chosen = groups.gather(1, local // size).mul_(size).add_(local % size)
    chosen.copy_(experts_chosen)
    raw = scores.gather(1, experts_chosen)
    torch.mul(raw, scaling / raw.sum(dim=-1, keepdim=True), out=weights)
