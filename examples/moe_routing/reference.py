import torch

GROUPS, KEPT_GROUPS, TOP_K = 8, 4, 8
CLEAR = 1e-5


def make_inputs(axes_and_scalars, device):
    """Logits of a router whose experts differ in popularity, as trained ones do.

    Popularity has a log-normal spread over the experts; the correction bias pushes the other way, as it does
    when it balances load during training. Tokens whose choice hangs on the last bit are left out.
    """
    tokens, experts = axes_and_scalars["num_tokens"], axes_and_scalars["num_experts"]
    popularity = torch.randn(experts, device=device)
    bias = 0.05 * torch.randn(experts, device=device) - 0.1 * popularity
    noise = torch.randn(tokens + tokens // 4 + 32, experts, device=device)
    logits = 1.5 * noise + 0.7 * popularity
    return {
        "router_logits": logits[has_clear_choice(logits, bias)][:tokens],
        "correction_bias": bias,
    }


def has_clear_choice(logits, bias):
    """Whether neither the groups nor the order of the experts depend on how a sigmoid is rounded."""
    biased = torch.sigmoid(logits.to(torch.float64)) + bias
    groups = group_scores(biased).sort(dim=-1, descending=True).values
    best = in_best_groups(biased).topk(TOP_K + 1, dim=-1).values
    clear_groups = groups[:, KEPT_GROUPS - 1] - groups[:, KEPT_GROUPS] > CLEAR
    return clear_groups & (best[:, :-1] - best[:, 1:] > CLEAR).all(dim=-1)


def group_scores(biased):
    """Sum of the two best experts of each group."""
    in_groups = biased.view(biased.shape[0], GROUPS, -1)
    return in_groups.topk(2, dim=-1).values.sum(dim=-1)


def in_best_groups(biased):
    """The biased scores, with -inf for experts outside the best groups."""
    scores = group_scores(biased)
    best = scores.topk(KEPT_GROUPS, dim=-1).indices
    kept = torch.zeros_like(scores, dtype=torch.bool).scatter(1, best, True)
    kept = kept.repeat_interleave(biased.shape[1] // GROUPS, dim=1)
    return biased.masked_fill(~kept, float("-inf"))


def run(router_logits, correction_bias, scaling):
    scores = torch.sigmoid(router_logits)
    biased = scores + correction_bias
    chosen = in_best_groups(biased).topk(TOP_K, dim=-1).indices
    weights = scores.gather(1, chosen)
    weights = weights / weights.sum(dim=-1, keepdim=True) * scaling
    return chosen.to(torch.int32), weights
