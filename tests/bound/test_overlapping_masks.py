"""Masks that share a dimension and are too large to be held as one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from solbench.bound import _boxes, _region, _reshape, _sets, derive_bound, function_program
from solbench.bound._region import Joint


def _meta(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


def test_a_product_of_large_triangles_costs_its_lattice_points() -> None:
    n = 1024
    program = function_program(lambda a, b: a.triu() @ b.triu(), [_meta(n, n), _meta(n, n)])
    (bound,) = derive_bound(program, "h200")
    # i <= k <= j
    assert bound.matrix_flops == {"fp32": 2 * (n * (n + 1) * (n + 2) // 6)}
    assert bound.dram_read_bytes == 2 * (n * (n + 1) // 2) * 4


def test_a_large_band_times_its_transpose() -> None:
    n, width = 512, 5

    def banded(x: torch.Tensor) -> torch.Tensor:
        band = torch.ones(n, n).tril(width).triu(-width)
        return (x * band) @ (x * band).mT

    (bound,) = derive_bound(function_program(banded, [_meta(n, n)]), "h200")
    column = [min(n - 1, k + width) - max(0, k - width) + 1 for k in range(n)]
    # symmetric: of the c² pairs that meet in a column one half and the diagonal
    assert bound.matrix_flops == {"fp32": 2 * sum(c * (c + 1) // 2 for c in column)}
    assert bound.dram_read_bytes == sum(column) * 4


@pytest.mark.parametrize("weighted", [False, True])
def test_counting_overlapping_masks_agrees_with_enumeration(
    monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    monkeypatch.setattr(_boxes, "DENSE_LIMIT", 1)
    draw = np.random.default_rng(0)
    shape = (4, 5, 6, 3)
    masks = {dims: draw.random([shape[d] for d in dims]) < 0.6 for dims in ((0, 1), (1, 2), (0, 2))}
    joints = [Joint(dims, mask) for dims, mask in masks.items()]
    sets: list[_sets.IndexSet] = [range(4), range(1, 5), np.array([0, 2, 5]), range(3)]
    box = _region.make_box(sets, joints, shape)
    assert box is not None and _region.overlapping(box)
    weights = {1: draw.integers(1, 9, 5), 3: draw.integers(1, 9, 3)} if weighted else {}
    expected = 0
    for point in product(*(list(s) for s in sets)):
        if all(mask[tuple(point[d] for d in dims)] for dims, mask in masks.items()):
            expected += int(np.prod([w[point[d]] for d, w in weights.items()], dtype=np.int64))
    assert _region.count_box(box, weights) == expected


@pytest.mark.parametrize(("batch", "size"), [(2, 2048), (5, 2048)])
def test_padded_queries_and_padded_keys_of_many_heads(batch: int, size: int) -> None:
    """Both masks have the batch in them; with 32 heads folded to it, they are too large to be held as one."""
    heads, channels = 32, 16
    lengths = torch.arange(1, batch + 1) * 401
    real = torch.arange(size) < lengths[:, None]

    def attend(query, key, value):
        logits = torch.einsum("bqhd,bkhd->bhqk", query, key)
        weights = torch.softmax(logits.masked_fill(~real[:, None, None], float("-inf")), dim=-1)
        output = torch.einsum("bhqk,bkhd->bqhd", weights, value)
        return output.masked_fill(~real[:, :, None, None], 0.0)

    inputs = [_meta(batch, size, heads, channels) for _ in range(3)]
    (bound,) = derive_bound(function_program(attend, inputs), "h200")
    assert bound.matrix_flops == {"fp32": 2 * 2 * heads * channels * int((lengths**2).sum())}
    assert bound.dram_read_bytes == 3 * 4 * heads * channels * int(lengths.sum())


def _points(region: _region.Region) -> np.ndarray:
    member = np.zeros(region.shape, dtype=np.bool_)
    for box in region.boxes:
        for point in product(*(list(s) for s in box.sets)):
            member[point] |= all(j.dense()[tuple(point[d] for d in j.dims)] for j in box.joints)
    return member


@pytest.mark.parametrize("limit", [1, 20, 40, 200])
@pytest.mark.parametrize("target", [(6, 4, 5), (2, 3, 20), (2, 12, 5), (24, 5), (3, 2, 4, 5)])
def test_overlapping_masks_through_a_reshape_hold_no_more(
    monkeypatch: pytest.MonkeyPatch, limit: int, target: tuple[int, ...]
) -> None:
    shape = (2, 3, 4, 5)
    draw = np.random.default_rng(limit)
    masks = {dims: draw.random([shape[d] for d in dims]) < 0.7 for dims in ((0, 2), (0, 3), (1, 3))}
    for module in (_boxes, _reshape):
        monkeypatch.setattr(module, "DENSE_LIMIT", limit)
    sets: list[_sets.IndexSet] = [range(2), np.array([0, 2]), range(1, 4), range(5)]
    box = _region.make_box(sets, [Joint(dims, mask) for dims, mask in masks.items()], shape)
    region = _region.of_boxes(shape, [box])
    expected = _points(region).reshape(target)
    found = _points(_reshape.through(region, target))
    assert not (found & ~expected).any()
    assert limit < 200 or (found == expected).all()
