# ruff: noqa: E731, E741
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


def segsum(x):
    t = x.size(-1)
    x = x.unsqueeze(-1).expand(*x.shape, t)
    m = torch.tril(torch.ones(t, t, device=x.device, dtype=bool), diagonal=-1)
    x = x.masked_fill(~m, 0)
    s = torch.cumsum(x, dim=-2)
    m = torch.tril(torch.ones(t, t, device=x.device, dtype=bool), diagonal=0)
    return s.masked_fill(~m, -torch.inf)


class Model(nn.Module):
    def __init__(self, b, t, h, p, n, l):
        super().__init__()
        self.l = l
        self.A, self.B, self.C = (
            nn.Parameter(torch.randn(b, t, h)),
            nn.Parameter(torch.randn(b, t, h, n)),
            nn.Parameter(torch.randn(b, t, h, n)),
        )

    def forward(self, X, initial=None):
        ch = lambda z: z.reshape(z.shape[0], -1, self.l, *z.shape[2:])
        X, A, B, C = (ch(z) for z in (X, self.A, self.B, self.C))
        A = A.permute(0, 3, 1, 2)
        Ac = torch.cumsum(A, dim=-1)
        L = torch.exp(segsum(A))
        yd = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", C, B, L, X)
        decay = torch.exp(Ac[:, :, :, -1:] - Ac)
        st = torch.einsum("bclhn,bhcl,bclhp->bchpn", B, decay, X)
        if initial is None:
            initial = torch.zeros_like(st[:, :1])
        st = torch.cat([initial, st], dim=1)
        dc = torch.exp(segsum(F.pad(Ac[:, :, :, -1], (1, 0))))
        st = torch.einsum("bhzc,bchpn->bzhpn", dc, st)[:, :-1]
        yo = torch.einsum("bclhn,bchpn,bhcl->bclhp", C, st, torch.exp(Ac))
        y = yd + yo
        return y.reshape(y.shape[0], -1, *y.shape[3:])


def get_inputs():
    return [torch.rand(128, 1024, 8, 64)]


def get_init_inputs():
    return [128, 1024, 8, 64, 16, 64]
