import torch


@torch.no_grad()
def run(x, up_proj, norm_weight, attention_mask, bias, temperature):
    hidden = torch.nn.functional.rms_norm(x.float(), (x.shape[-1],), norm_weight.float())
    scores = hidden @ up_proj.float() + bias.float()
    kept = scores[..., : attention_mask.shape[-1]] + attention_mask[: scores.shape[1]]
    return {"scores": scores.to(x.dtype), "row_sum": kept.clamp(min=-100).sum(-1) / temperature}
