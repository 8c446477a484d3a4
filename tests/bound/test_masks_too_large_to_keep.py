"""Masks with more elements than are kept: followed as intervals, or nothing under them is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import (
    Demand,
    _access,
    _bands,
    _boxes,
    _counting,
    _lift,
    _reshape,
    _stated,
    analyse,
    capture,
    derive_bound,
    function_program,
)
from solbench.bound.capture import _shadow

LENGTH = 16384  # 2^28 mask elements, four times what is kept
TRIANGLE = LENGTH * (LENGTH + 1) // 2
WINDOW = 256
MINUS = float("-inf")


def window(scores: Any, n: int) -> Any:
    i = torch.arange(n)
    distance = i[:, None] - i[None, :]
    return torch.where((distance >= 0) & (distance < WINDOW), scores, MINUS)


def prefix_and_window(scores: Any, n: int) -> Any:
    """Columns before 64 are seen by every row; others only up to the diagonal."""
    i = torch.arange(n)
    return scores.masked_fill(~((i[:, None] >= i[None]) | (i[None] < 64)), MINUS)


MASKS: dict[str, tuple[Callable[[Any, int], Any], int]] = {
    # (application to the scores, pairs that are left)
    "compared positions": (
        lambda s, n: s.masked_fill(torch.arange(n)[:, None] < torch.arange(n)[None, :], MINUS),
        TRIANGLE,
    ),
    "a triangle of ones": (
        lambda s, n: s.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), MINUS), TRIANGLE,
    ),
    "a triangle, inverted": (
        lambda s, n: s.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), MINUS), TRIANGLE,
    ),
    "an added triangle of minus infinities": (
        lambda s, n: s + torch.full((n, n), MINUS).triu(1), TRIANGLE,
    ),
    "one minus a triangle, times a large number": (
        lambda s, n: s + (1.0 - torch.ones(n, n).tril()) * -1e9, TRIANGLE,
    ),
    # the first rows see 1, 2, ... keys, the others as many as the window is wide
    "a window": (window, WINDOW * (WINDOW + 1) // 2 + (LENGTH - WINDOW) * WINDOW),
    # |i - j| < w: w ones on the diagonal and to both sides, less two corners
    "a band": (
        lambda s, n: s.masked_fill(
            (torch.arange(n)[:, None] - torch.arange(n)[None]).abs() >= WINDOW, MINUS
        ),
        LENGTH * (2 * WINDOW - 1) - WINDOW * (WINDOW - 1),
    ),
    # documents of 1024 positions
    "documents": (
        lambda s, n: s.masked_fill(
            torch.arange(n)[:, None] // 1024 != torch.arange(n)[None] // 1024, MINUS
        ),
        LENGTH * 1024,
    ),
}  # fmt: skip


def attention(apply: Callable[[Any, int], Any]) -> Any:
    def run(q: Any, k: Any, v: Any) -> Any:
        scores = apply(q @ k.transpose(0, 1), q.shape[0])
        return torch.softmax(scores, -1) @ v

    tensors = {name: torch.empty(LENGTH, 64, device="meta") for name in "qkv"}
    (bound,) = derive_bound(function_program(run, tensors, name="attention"), "h200")
    return bound


@pytest.mark.parametrize("mask", MASKS)
def test_pairs_under_a_large_mask_are_counted_exactly(mask: str) -> None:
    apply, pairs = MASKS[mask]
    bound = attention(apply)
    assert bound.matrix_flops == {"fp32": 2 * 2 * 64 * pairs}
    assert bound.dram_read_bytes == 3 * LENGTH * 64 * 4
    assert not any("too large to keep" in assumption for assumption in bound.assumptions)


def test_under_a_mask_that_is_no_intervals_nothing_is_counted_and_the_bound_says_so() -> None:
    def scattered(scores: Any, n: int) -> Any:
        place = torch.arange(n) * 7919 % n
        return scores.masked_fill(place[:, None] < place[None, :], MINUS)

    bound = attention(scattered)
    assert bound.matrix_flops == {}
    assert any("too large to keep" in assumption for assumption in bound.assumptions)


def test_an_attention_mask_that_cannot_be_followed_counts_nothing() -> None:
    def run(q: Any, k: Any, v: Any) -> Any:
        place = torch.arange(LENGTH) * 7919 % LENGTH
        mask = place[:, None] < place[None, :]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    tensors = tuple(torch.empty(1, 1, LENGTH, 64, device="meta") for _ in "qkv")
    (bound,) = derive_bound(function_program(run, tensors), "h200")
    assert bound.matrix_flops == {}


def test_without_a_mask_everything_is_counted() -> None:
    bound = attention(lambda scores, n: scores)
    # two products of n x n x 64
    assert bound.matrix_flops == {"fp32": 2 * 2 * LENGTH * LENGTH * 64}


def test_a_large_causal_mask_and_the_lengths_of_two_sequences() -> None:
    def run(q: Any, k: Any, v: Any, lengths: Any) -> Any:
        i = torch.arange(LENGTH)
        seen = (i[:, None] >= i[None])[None] & (i[None, None] < lengths[:, None, None])
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None])

    tensors = tuple(torch.empty(2, 2, LENGTH, 64, device="meta") for _ in "qkv")
    (bound,) = derive_bound(function_program(run, (*tensors, torch.tensor([1000, LENGTH]))), "h200")
    # of the first sequence, rows past 1000 see 1000 keys; 2 heads
    pairs = TRIANGLE + 1000 * 1001 // 2 + (LENGTH - 1000) * 1000
    assert bound.matrix_flops == {"fp32": 2 * 2 * 64 * 2 * pairs}
    # queries whole; keys and values of 1000 and all positions; the lengths
    keys = 2 * (1000 + LENGTH) * 64
    assert bound.dram_read_bytes == 4 * (2 * 2 * LENGTH * 64 + 2 * keys) + 2 * 8


def test_the_first_queries_under_a_large_causal_mask_need_few_keys() -> None:
    def run(q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)[:, :, :100]

    tensors = tuple(torch.empty(1, 1, LENGTH, 64, device="meta") for _ in "qkv")
    (bound,) = derive_bound(function_program(run, tensors), "h200")
    assert bound.matrix_flops == {"fp32": 2 * 2 * 64 * 5050}  # 1 + 2 + ... + 100
    assert bound.dram_read_bytes == 3 * 100 * 64 * 4


# ---- the same programs, small, with and without the masks spelled out ----

SMALL = 12


def t(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


def small(apply: Callable[[Any, int], Any]) -> Callable[..., Any]:
    return lambda q, k, v: torch.softmax(apply(q @ k.transpose(-1, -2), SMALL), -1) @ v


def banded(low: int, high: int) -> Callable[..., Any]:
    def run(q: Any, k: Any, v: Any) -> Any:
        i = torch.arange(SMALL)
        d = i[:, None] - i[None]
        out = torch.softmax(
            (q @ k.transpose(-1, -2)).masked_fill((d < low) | (d >= high), MINUS), -1
        )
        return (out @ v)[..., 2:7, :]

    return run


def transposed_mask(q: Any, k: Any, v: Any) -> Any:
    mask = torch.ones(SMALL, SMALL, dtype=torch.bool).triu(1).t()
    return torch.softmax((q @ k.transpose(-1, -2)).masked_fill(mask, MINUS), -1) @ v


def sliced_mask(q: Any, k: Any, v: Any) -> Any:
    mask = torch.ones(2 * SMALL, 2 * SMALL).tril()[SMALL // 2 : SMALL // 2 + SMALL, :SMALL]
    return torch.softmax((q @ k.transpose(-1, -2)) + (1 - mask) * -1e9, -1) @ v


def triangles_multiplied(q: Any, k: Any, v: Any) -> Any:
    return (q @ k.transpose(-1, -2)).tril() @ v


def reversed_positions(q: Any, k: Any, v: Any) -> Any:
    i = SMALL - 1 - torch.arange(SMALL)
    return torch.softmax((q @ k.transpose(-1, -2)).masked_fill(i[:, None] < i[None], MINUS), -1) @ v


def padded_and_causal(q: Any, k: Any, v: Any) -> Any:
    i = torch.arange(SMALL)
    lengths = torch.tensor([5, 9])
    seen = (i[:, None] >= i[None])[None] & (i[None, None] < lengths[:, None, None])
    scores = (q @ k.transpose(-1, -2)).masked_fill(~seen, MINUS)
    return torch.softmax(scores, -1) @ v


SMALL_PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    **{
        name: (small(apply), (t(SMALL, 4), t(SMALL, 4), t(SMALL, 4)))
        for name, (apply, _) in MASKS.items()
    },
    "rows of a band": (banded(-2, 3), (t(2, SMALL, 4), t(2, SMALL, 4), t(2, SMALL, 4))),
    "rows of a late band": (banded(1, 5), (t(SMALL, 4), t(SMALL, 4), t(SMALL, 4))),
    "a transposed mask": (transposed_mask, (t(SMALL, 4), t(SMALL, 4), t(SMALL, 4))),
    "a slice of a mask": (sliced_mask, (t(SMALL, 4), t(SMALL, 4), t(SMALL, 4))),
    "a triangle of scores": (triangles_multiplied, (t(SMALL, 4), t(SMALL, 4), t(SMALL, 4))),
    "reversed positions": (reversed_positions, (t(SMALL, 4), t(SMALL, 4), t(SMALL, 4))),
    "lengths and order": (padded_and_causal, (t(2, SMALL, 4), t(2, SMALL, 4), t(2, SMALL, 4))),
}


def figures(program: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
    graph, rung = capture(function_program(program, inputs))
    demand: Demand = analyse(graph, rung)
    return demand.matrix_flops, demand.dram_read_bytes, demand.dram_write_bytes


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_intervals_count_what_the_mask_spelled_out_counts(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spelled_out = figures(*SMALL_PROGRAMS[name])
    monkeypatch.setattr(_shadow, "LARGEST_KNOWN_ELEMENTS", 100)
    monkeypatch.setattr(_lift, "FOLDED_ELEMENTS", 100)
    monkeypatch.setattr(_bands, "DENSE_ELEMENTS", 0)
    for module in (_access, _boxes, _counting, _reshape, _stated):
        monkeypatch.setattr(module, "DENSE_LIMIT", 100)
    assert figures(*SMALL_PROGRAMS[name]) == spelled_out
    assert sum(spelled_out[0].values()) > 0


@pytest.mark.parametrize(("heads", "rows", "columns"), [(16, 2048, 6000), (64, 512, 4096)])
def test_heads_that_are_folded_into_the_rows_of_a_product_keep_the_triangle(
    heads: int, rows: int, columns: int
) -> None:
    """``qhc,kc->hqk`` multiplies rows · heads lines: more than can be kept, each head like the next."""

    def attend(query, key):
        logits = torch.einsum("qhc,kc->hqk", query, key)
        later = torch.ones(rows, columns, dtype=torch.bool).triu(columns - rows + 1)
        weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
        return torch.einsum("hqk,kc->qhc", weights, key)

    # Row i sees columns - rows + i + 1 keys; two products of 32 channels for each.
    seen = sum(columns - rows + i + 1 for i in range(rows))
    inputs = [torch.empty(rows, heads, 32, device="meta"), torch.empty(columns, 32, device="meta")]
    demand = analyse(*capture(function_program(attend, inputs)))
    assert sum(demand.matrix_flops.values()) == 2 * 2 * 32 * heads * seen


def cache_bytes_read(heads_in_rows: bool) -> tuple[int, int]:
    """Of a flat cache of 2^28 elements: what attention over ragged lengths reads, and what it must."""
    batch, heads, keys, channels = 64, 8, 4096, 128
    lengths = torch.arange(batch) * 37 % keys + 1  # in no order

    def attend(query, cache):
        rows = cache.view(batch, heads, keys, channels)
        stale = (torch.arange(keys) >= lengths[:, None])[:, None, None]
        logits = (query @ rows.transpose(-1, -2)).masked_fill(stale, float("-inf"))
        return torch.softmax(logits, dim=-1) @ rows

    shape = (batch * heads, keys * channels) if heads_in_rows else (batch, heads * keys * channels)
    inputs = [
        torch.empty(batch, heads, 1, channels, device="meta"),
        torch.empty(shape, device="meta"),
    ]
    demand = analyse(*capture(function_program(attend, inputs)))
    read = max((t for t in demand.traffic if t.direction == "read"), key=lambda t: t.declared_bytes)
    return read.bytes, int(lengths.sum()) * heads * channels * 4


def test_ragged_lengths_reach_a_cache_whose_rows_are_flat() -> None:
    """Both sides of the mask are folded: batch with heads, keys with their channels."""
    read, needed = cache_bytes_read(heads_in_rows=True)
    assert read == needed


def test_no_more_is_read_where_intervals_break() -> None:
    """A row of all heads holds as many intervals; then less is claimed, never more."""
    read, needed = cache_bytes_read(heads_in_rows=False)
    assert read <= needed


def test_of_windows_that_a_mask_cuts_the_others_count() -> None:
    """3600 windows, six heads: 2^26 positions, folded to one batch. Of 80 windows halves are apart."""
    windows, heads, tokens, channels = 3600, 6, 64, 30
    half = torch.arange(tokens) < tokens // 2
    cut = torch.arange(windows) >= windows - 80

    def attend(query, key, value):
        apart = cut[:, None, None] & (half[:, None] != half[None])
        logits = (query @ key.transpose(-1, -2)).masked_fill(apart[:, None], float("-inf"))
        return torch.softmax(logits, dim=-1) @ value

    inputs = [torch.empty(windows, heads, tokens, channels, device="meta") for _ in range(3)]
    demand = analyse(*capture(function_program(attend, inputs)))
    each = 2 * heads * tokens * tokens * channels
    flops = sum(demand.matrix_flops.values())
    assert 2 * each * (windows - 80) <= flops <= 2 * each * (windows - 80) + each * 80
