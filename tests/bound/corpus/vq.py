import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class Model(nn.Module):
    def __init__(self, n=8192, d=256):
        super().__init__()
        self.e = nn.Embedding(n, d)

    def forward(self, z):
        f = z.permute(0, 2, 3, 1).contiguous()
        x = f.view(-1, f.shape[-1])
        dist = (
            x.pow(2).sum(1, keepdim=True) + self.e.weight.pow(2).sum(1) - 2 * x @ self.e.weight.t()
        )
        i = dist.argmin(1)
        q = self.e(i).view(f.shape)
        loss = F.mse_loss(q.detach(), f) + 0.25 * F.mse_loss(q, f.detach())
        q = f + (q - f).detach()
        p = torch.zeros(i.shape[0], 8192, device=z.device).scatter_(1, i[:, None], 1).mean(0)
        return q.permute(0, 3, 1, 2), loss, i, torch.exp(-(p * (p + 1e-10).log()).sum())


def get_inputs():
    return [torch.randn(8, 256, 64, 64)]


def get_init_inputs():
    return []
