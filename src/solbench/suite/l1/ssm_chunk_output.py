"""Inside a chunk of a Mamba-2 scan: a causal product of C and B, weighted by the decay between two tokens.

It is attention without softmax: C and B of 128 channels take the place of queries and keys and are shared by
all heads; each head has its own decays and its own step sizes.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="ssm_chunk_output_bf16_h80_p64_n128",
    tier="L1",
    family="ssm",
    models=(
        Model(
            "state-spaces/mamba2-2.7b",
            "80 heads of headdim 64, d_state 128, ngroups 1, chunk_size 256",
            read="state-spaces/mamba: README.md, table of sizes",
        ),
    ),
    axes={"chunks": var, "length": var, "heads": 80, "head_dim": 64, "state": 128},
    inputs={
        "c": activation("bfloat16[chunks, length, state]", draw.normal(std=0.3), EVERY_KIND),
        "b": activation("bfloat16[chunks, length, state]", draw.normal(std=0.3, label="b"), EVERY_KIND),
        "x": activation("bfloat16[chunks, length, heads, head_dim]", draw.normal(), EVERY_KIND),
        "step": activation("float32[chunks, length, heads]", draw.uniform(low=0.01, high=0.2)),
        "rate": activation("float32[heads]", draw.uniform(low=-8.0, high=-0.5)),
    },
    outputs={"y": "bfloat16[chunks, length, heads, head_dim]"},
    workloads=rows(
        "chunks length",
        (1, 64), (1, 256), (2, 128), (2, 256), (4, 256), (5, 200), (8, 128), (8, 256), (12, 256), (16, 64),
        (16, 256), (24, 256), (32, 128), (32, 256), (48, 100), (64, 256),
    ),
    smoke=rows("chunks length heads head_dim state", (2, 12, 3, 16, 32), (1, 40, 4, 64, 128)),
)  # fmt: skip

import torch


def run(c, b, x, step, rate):
    length = x.shape[1]
    passed = torch.cumsum(step * rate, dim=1)  # log of the decay since the chunk began
    between = passed[:, :, None] - passed[:, None, :]  # [chunks, to, from, heads]
    later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
    decay = torch.exp(between.masked_fill(later[:, :, None], float("-inf")))
    agreement = c.to(torch.float32) @ b.to(torch.float32).transpose(1, 2)
    mixing = (agreement[..., None] * decay * step[:, None]).to(x.dtype).to(torch.float32)
    return torch.einsum("ctsh,cshp->cthp", mixing, x.to(torch.float32)).to(x.dtype)
