"""References of fused blocks that take a detour (chunks, absorption, pages) against the plain way."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from solbench import spec, suite

Inputs = dict[str, Any]


def run_smoke(name: str) -> tuple[Any, Inputs]:
    """What the reference returns on its first smoke workload, and its inputs in float64."""
    problem = suite.load(name, smoke=True)
    inputs = spec.make_inputs(problem, problem.workloads[0], 3)
    returned = spec.load_reference(problem)(*inputs.values())
    return returned, {key: wide(value) for key, value in inputs.items()}


def wide(value: Any) -> Any:
    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(torch.float64) if floating else value


def assert_near(found: torch.Tensor, expected: torch.Tensor, share: float) -> None:
    """No element is further off than this share of the largest."""
    difference = (found.to(torch.float64) - expected).abs().max()
    assert difference <= share * expected.abs().max()


def rms(values: torch.Tensor, eps: float) -> torch.Tensor:
    return values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + eps)


def causal_convolution(values: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
    """Tap by tap over [batch, seq_len, channels]."""
    taps, seq_len = kernel.shape[-1], values.shape[1]
    early = functional.pad(values, (0, 0, taps - 1, 0))
    moved = [early[:, t : t + seq_len] * kernel[:, 0, t] for t in range(taps)]
    return torch.stack(moved).sum(dim=0)


def test_mamba_in_chunks_equals_token_by_token() -> None:
    (y, last_state), given = run_smoke("mamba_chunk_block_fp32_h2560")
    heads, inner, size = given["step_bias"].shape[0], given["gain"].shape[0], given["state"]
    projected = given["x"] @ given["input_weight"].T
    gate, mixed, step = projected.split([inner, inner + 2 * size, heads], dim=-1)
    convolved = causal_convolution(mixed, given["kernel"]) + given["kernel_bias"]
    value, b, c = functional.silu(convolved).split([inner, size, size], dim=-1)
    value = value.unflatten(-1, (heads, -1))
    step = functional.softplus(step + given["step_bias"])
    state = torch.zeros(len(y), heads, size, value.shape[-1], dtype=torch.float64)
    read = []
    for t in range(y.shape[1]):
        decay = torch.exp(-step[:, t] * given["log_rate"].exp())
        written = step[:, t, :, None] * value[:, t]
        state = state * decay[..., None, None] + b[:, t, None, :, None] * written[:, :, None]
        seen = torch.einsum("bs,bhsp->bhp", c[:, t], state)
        read.append(seen + given["skip"][:, None] * value[:, t])
    gated = torch.stack(read, dim=1).flatten(2) * functional.silu(gate)
    assert_near(y, rms(gated, 1e-5) * given["gain"] @ given["output_weight"].T, 1e-5)
    assert_near(last_state, state, 1e-5)


def test_the_delta_rule_in_chunks_equals_token_by_token() -> None:
    (y, last_state), given = run_smoke("gated_delta_block_fp32_k16_v32_d128")
    value_heads, size = given["step_bias"].shape[0], given["gain"].shape[0]
    heads = functional.silu(causal_convolution(given["mixed"], given["kernel"]))
    heads = heads.unflatten(-1, (-1, size))
    key_heads = (heads.shape[2] - value_heads) // 2
    query, key, value = heads.split([key_heads, key_heads, value_heads], dim=2)
    group = value_heads // key_heads
    query = (rms(query, 1e-6 / size) / size).repeat_interleave(group, dim=2)  # length one, scaled
    key = (rms(key, 1e-6 / size) / size**0.5).repeat_interleave(group, dim=2)
    step = functional.softplus(given["step"] + given["step_bias"])
    decay, beta = torch.exp(-given["log_rate"].exp() * step), torch.sigmoid(given["beta"])
    state = torch.zeros(len(y), value_heads, size, size, dtype=torch.float64)
    read = []
    for t in range(y.shape[1]):
        state = state * decay[:, t, :, None, None]
        held = torch.einsum("bhkv,bhk->bhv", state, key[:, t])
        change = (value[:, t] - held) * beta[:, t, :, None]
        state = state + key[:, t, ..., None] * change[..., None, :]
        read.append(torch.einsum("bhkv,bhk->bhv", state, query[:, t]))
    normalised = rms(torch.stack(read, dim=1), 1e-6) * given["gain"]
    gated = normalised.flatten(2) * functional.silu(given["gate"])
    assert_near(y, gated @ given["output_weight"].T, 1e-5)
    assert_near(last_state, state, 1e-5)


def test_absorbed_projections_equal_expanded_keys_and_values() -> None:
    y, given = run_smoke("latent_attention_block_sparse_bf16_h128_k2048")
    key_up, value_up, rank = given["key_up"], given["value_up"], given["key_up"].shape[2]
    heads = key_up.shape[0]
    attended = []
    for query, chosen in zip(given["query"], given["chosen"].tolist(), strict=True):
        kept = given["cache"][chosen]
        shared = kept[:, rank:].expand(heads, -1, -1)
        key = torch.cat([torch.einsum("kr,hpr->hkp", kept[:, :rank], key_up), shared], dim=-1)
        value = torch.einsum("kr,hvr->hkv", kept[:, :rank], value_up)
        logits = (key @ query[..., None]).squeeze(-1) * query.shape[-1] ** -0.5
        attended.append((torch.softmax(logits, dim=-1)[:, None] @ value).flatten())
    assert_near(y, given["x"] + torch.stack(attended) @ given["output_weight"].T, 0.02)


def test_gathered_distances_equal_the_shift_by_padding() -> None:
    y, given = run_smoke("attention_block_conformer_fp32_h1024")
    x, (heads, size) = given["x"], given["key_bias"].shape
    frames = x.shape[1]
    normalised = functional.layer_norm(x, x.shape[-1:], given["gain"], given["shift"])
    projected = (normalised @ given["qkv_weight"].T + given["qkv_bias"]).chunk(3, dim=-1)
    query, key, value = (p.unflatten(-1, (heads, size)).transpose(1, 2) for p in projected)
    position = given["encoding"] @ given["position_weight"].T
    position = position.unflatten(-1, (heads, size)).transpose(0, 1)
    by_distance = (query + given["position_bias"][:, None]) @ position.transpose(-1, -2)
    padded = functional.pad(by_distance, (1, 0)).reshape(*by_distance.shape[:2], -1, frames)
    shifted = padded[:, :, 1:].reshape(by_distance.shape)[..., :frames]
    by_key = (query + given["key_bias"][:, None]) @ key.transpose(-1, -2)
    logits = (by_key + shifted) * size**-0.5
    hidden = ~given["real"][:, None, None]
    weights = torch.softmax(logits.masked_fill(hidden, float("-inf")), dim=-1)
    attended = (weights @ value).transpose(1, 2).flatten(2)
    assert_near(y, x + attended @ given["output_weight"].T + given["output_bias"], 1e-5)
