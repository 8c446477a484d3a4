import torch


def make_inputs(axes_and_scalars, device):
    """Logits of a router whose experts differ in popularity, as trained ones do.

    Popularity falls with the expert's rank in a random order, by a log-normal spread; the correction bias
    pushes the other way, as it does when it balances load during training.
    """
    tokens, experts = axes_and_scalars["num_tokens"], axes_and_scalars["num_experts"]
    popularity = torch.randn(experts, device=device)
    noise = torch.randn(tokens, experts, device=device)
    return {
        "router_logits": 1.5 * noise + 0.7 * popularity,
        "correction_bias": 0.05 * torch.randn(experts, device=device) - 0.1 * popularity,
    }


def run(router_logits, correction_bias, scaling):
    groups, kept_groups, top_k = 8, 4, 8
    tokens, experts = router_logits.shape
    scores = torch.sigmoid(router_logits)
    biased = scores + correction_bias
    in_groups = biased.view(tokens, groups, experts // groups)
    group_scores = in_groups.topk(2, dim=-1).values.sum(dim=-1)
    best_groups = group_scores.topk(kept_groups, dim=-1).indices
    kept = torch.zeros_like(group_scores, dtype=torch.bool).scatter(1, best_groups, True)
    kept = kept.repeat_interleave(experts // groups, dim=1)
    chosen = biased.masked_fill(~kept, float("-inf")).topk(top_k, dim=-1).indices
    weights = scores.gather(1, chosen)
    weights = weights / weights.sum(dim=-1, keepdim=True) * scaling
    return chosen.to(torch.int32), weights
