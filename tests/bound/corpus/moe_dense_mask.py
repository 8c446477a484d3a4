import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


class Model(nn.Module):
    def __init__(self, d=1024, f=2048, e=8, k=2):
        super().__init__()
        self.k, self.gate = k, nn.Linear(d, e, bias=False)
        self.ex = nn.ModuleList(
            nn.ModuleList(
                [
                    nn.Linear(d, f, bias=False),
                    nn.Linear(f, d, bias=False),
                    nn.Linear(d, f, bias=False),
                ]
            )
            for _ in range(e)
        )

    def forward(self, x):
        b, t, d = x.shape
        x = x.view(-1, d)
        w, sel = torch.topk(F.softmax(self.gate(x), dim=1, dtype=torch.float), self.k, dim=-1)
        w /= w.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        m = F.one_hot(sel, num_classes=len(self.ex)).permute(2, 1, 0)
        for i, (a, c, g) in enumerate(self.ex):
            j, top = torch.where(m[i])
            h = F.silu(a(x[top])) * g(x[top])
            out.index_add_(0, top, (c(h) * w[top, j, None]).to(x.dtype))
        return out.view(b, t, d)


def get_inputs():
    return [torch.randn(2, 256, 1024)]


def get_init_inputs():
    return []
