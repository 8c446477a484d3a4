"""Scores of relative attention in a conformer: content plus position, the latter shifted into place.

Position scores come as query × all 2 T - 1 distances; row i of the result uses the window that starts at
T - 1 - i. Content and position each have their own learnt query offset.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="relative_shift_conformer_fp32_h8_d128",
    tier="L1",
    family="positional",
    models=(
        Model(
            "nvidia/parakeet-tdt-0.6b-v2",
            "encoder: d_model 1024, n_heads 8, rel_pos attention",
            "audio", read="NVIDIA/NeMo: fast-conformer_transducer_bpe.yaml, table of sizes",
        ),
        Model(
            "nvidia/canary-1b-flash",
            "encoder: d_model 1024, n_heads 8, rel_pos attention",
            "audio",
            read="NVIDIA-NeMo/NeMo: fast-conformer_aed.yaml, table of the Canary family",
        ),
    ),
    axes={"batch": var, "frames": var, "heads": 8, "head_dim": 128, "distances": "2 * frames - 1"},
    inputs={
        "query": activation("float32[batch, heads, frames, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("float32[batch, heads, frames, head_dim]", draw.normal(), EVERY_KIND),
        "position": activation("float32[heads, distances, head_dim]", draw.normal(), EVERY_KIND),
        "content_offset": weight("float32[heads, head_dim]", draw.normal(std=0.3)),
        "position_offset": weight("float32[heads, head_dim]", draw.normal(std=0.3)),
    },
    outputs={"scores": "float32[batch, heads, frames, frames]"},
    workloads=rows(
        "batch frames",
        (1, 25), (1, 100), (1, 188), (1, 375), (1, 750), (1, 1500), (2, 250), (2, 625),
        (4, 125), (4, 500), (4, 1000), (8, 200), (8, 333), (16, 125), (16, 375), (32, 250),
    ),
    smoke=rows("batch frames heads head_dim", (2, 7, 2, 16), (1, 30, 4, 64)),
)  # fmt: skip

import torch


def run(query, key, position, content_offset, position_offset):
    frames, head_dim = query.shape[2:]
    content = (query + content_offset[:, None]) @ key.transpose(-1, -2)
    by_distance = (query + position_offset[:, None]) @ position.transpose(-1, -2)
    place = torch.arange(frames, device=query.device)
    window = (frames - 1 - place)[:, None] + place[None, :]  # [query, key] → distance
    shifted = by_distance.gather(-1, window.expand(by_distance.shape[:2] + window.shape))
    return (content + shifted) * head_dim**-0.5
