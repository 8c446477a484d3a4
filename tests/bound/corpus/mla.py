# ruff: noqa: E731
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class Model(nn.Module):
    def __init__(self, d=7168, h=128, ql=1536, kvl=512, nope=128, rope=64, v=128):
        super().__init__()
        self.h, self.nope, self.rope, self.v, self.kvl = h, nope, rope, v, kvl
        L = lambda a, b: nn.Linear(a, b, bias=False, dtype=torch.bfloat16)
        self.qa, self.qb, self.kva, self.kvb, self.o = (
            L(d, ql),
            L(ql, h * (nope + rope)),
            L(d, kvl + rope),
            L(kvl, h * (nope + v)),
            L(h * v, d),
        )
        self.qn, self.kn = (
            nn.RMSNorm(ql, dtype=torch.bfloat16),
            nn.RMSNorm(kvl, dtype=torch.bfloat16),
        )

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q = self.qb(self.qn(self.qa(x))).view(b, t, self.h, -1).transpose(1, 2)
        qn, qp = q.split([self.nope, self.rope], -1)
        c, kp = self.kva(x).split([self.kvl, self.rope], -1)
        kv = self.kvb(self.kn(c)).view(b, t, self.h, -1).transpose(1, 2)
        kn, v = kv.split([self.nope, self.v], -1)
        kp = kp.view(b, t, 1, self.rope).transpose(1, 2)

        def r(z):
            z = z.view(*z.shape[:-1], self.rope // 2, 2).transpose(-1, -2).reshape(z.shape)
            a, e = z.chunk(2, -1)
            return z * cos + torch.cat((-e, a), -1) * sin

        qp, kp = r(qp), r(kp)
        qs = kn.new_empty(b, self.h, t, self.nope + self.rope)
        qs[..., : self.nope] = qn
        qs[..., self.nope :] = qp
        ks = torch.empty_like(qs)
        ks[..., : self.nope] = kn
        ks[..., self.nope :] = kp
        y = F.scaled_dot_product_attention(qs, ks, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, t, -1))


def get_inputs():
    return [
        torch.randn(1, 4096, 7168, dtype=torch.bfloat16),
        torch.randn(4096, 64, dtype=torch.bfloat16),
        torch.randn(4096, 64, dtype=torch.bfloat16),
    ]


def get_init_inputs():
    return []
