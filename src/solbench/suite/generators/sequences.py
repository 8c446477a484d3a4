"""Sequences of differing lengths, pages of a cache, positions, masks."""

from __future__ import annotations

import torch


def _ragged(
    device: torch.device, sequences: int, total: int, least: int, spread: float
) -> torch.Tensor:
    """Log-normal lengths, each at least ``least``, that add up to ``total``; int64."""
    share = torch.randn(sequences, device=device).mul_(spread).exp_()
    free = total - least * sequences
    ends = (share.cumsum(0) / share.sum() * free).round().long()
    ends[-1] = free
    return ends.diff(prepend=ends.new_zeros(1)) + least


def _starts(lengths: torch.Tensor) -> torch.Tensor:
    """Where each sequence begins, and after the last one the end; int32."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).to(torch.int32)


def ragged_lengths(
    device: torch.device, sequences: int, total: int, least: int = 1, spread: float = 0.6
) -> dict[str, torch.Tensor]:
    """Sequences packed one after another: ``lengths`` (sequences,) and ``indptr`` (sequences + 1,), int32."""
    lengths = _ragged(device, sequences, total, least, spread)
    return {"lengths": lengths.to(torch.int32), "indptr": _starts(lengths)}


def page_table(
    device: torch.device, sequences: int, used: int, pool: int, page_size: int = 1
) -> dict[str, torch.Tensor]:
    """A cache of ``pool`` pages of which ``used`` belong to sequences, scattered as after long service.

    ``indptr`` (sequences + 1,), ``indices`` (used,) and ``last_page_len`` (sequences,), all int32.
    """
    pages = _ragged(device, sequences, used, 1, 0.6)
    last = torch.randint(1, page_size + 1, (sequences,), dtype=torch.int32, device=device)
    indices = torch.randperm(pool, device=device)[:used].to(torch.int32)
    return {"indptr": _starts(pages), "indices": indices, "last_page_len": last}


def prefill_batch(
    device: torch.device, sequences: int, new: int, total: int, pool: int = 0
) -> dict[str, torch.Tensor]:
    """Sequences with ``new`` fresh tokens in all, behind a cached prefix each, ``total`` keys in all.

    ``qo_indptr`` and ``kv_indptr`` (sequences + 1,), int32, and with a pool of one-token pages ``kv_indices``
    (total,).
    """
    fresh = _ragged(device, sequences, new, 1, 0.6)
    cached = _ragged(device, sequences, total - new, 0, 0.6)
    made = {"qo_indptr": _starts(fresh), "kv_indptr": _starts(fresh + cached)}
    if pool:
        made["kv_indices"] = torch.randperm(pool, device=device)[:total].to(torch.int32)
    return made


def positions(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, latest: int = 4096
) -> torch.Tensor:
    """Consecutive positions along the last axis from a random start below ``latest`` for each row."""
    start = torch.randint(0, latest, (*shape[:-1], 1), device=device)
    return (start + torch.arange(shape[-1], device=device)).to(dtype)


def rope_table(
    device: torch.device, tokens: int, pairs: int, base: float = 10000.0, latest: int = 4096
) -> dict[str, torch.Tensor]:
    """Rotary angles of consecutive positions: ``cos`` and ``sin`` (tokens, pairs), float32."""
    start = torch.randint(0, latest, (1,), device=device)
    position = (start + torch.arange(tokens, device=device)).to(torch.float32)
    exponent = torch.arange(pairs, dtype=torch.float32, device=device) / pairs
    angle = position[:, None] * (base**-exponent)[None, :]
    return {"cos": angle.cos(), "sin": angle.sin()}


def causal_mask(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Additive: 0 where a key may be seen, the dtype's least value after the last query's diagonal."""
    queries, keys = shape[-2:]
    hidden = torch.ones(queries, keys, dtype=torch.bool, device=device).triu(keys - queries + 1)
    return torch.zeros(shape, dtype=dtype, device=device).masked_fill_(
        hidden, torch.finfo(dtype).min
    )


def padding_mask(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """True (or 1) at real tokens: each row of the last axis is filled from the left, at least half."""
    size = shape[-1]
    length = torch.randint((size + 1) // 2, size + 1, (*shape[:-1], 1), device=device)
    return (torch.arange(size, device=device) < length).to(dtype)


def tree_mask(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """True where a tree's node (row) is, or descends from, another (column); parents have smaller numbers."""
    *trees, nodes, _ = shape
    place = torch.arange(nodes, device=device)
    parent = (torch.rand(*trees, nodes, device=device) * place).long().clamp_min(0)
    ancestors = torch.eye(nodes, dtype=torch.bool, device=device).expand(shape)
    links = parent[..., :, None] == place
    links[..., 0, :] = False
    steps = links
    for _ in range(nodes.bit_length()):
        # Each round doubles the length of the paths that are known.
        ancestors = ancestors | (steps.float() @ ancestors.float() > 0)
        steps = steps.float() @ steps.float() > 0
    return ancestors.to(dtype)
