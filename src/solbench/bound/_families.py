"""Families of symmetric matrices: what sums, multiples and products make of one symmetric matrix.

Members commute, so that a product of two of them is symmetric and a member again: Newton-Schulz iterations
consist of such products.
"""

from __future__ import annotations

import torch

from solbench.bound import _access, _facts, _mirrors, _reps
from solbench.bound._access import Along, Fixed
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape

MAX_DEPTH = 64
"""Steps that are followed behind a matrix."""

Family = int | None
"""The value that begins the family, over the last two dimensions of its members."""


def of_product(item: Map, lifted: LiftedGraph) -> Family:
    """Family of the result of a plain product of two members."""
    if not item.contracts or not _is_matrix_product(item):
        return None
    left, right = (family(o.value, lifted) for o in item.operands[:2])
    return left if left is not None and left == right else None


def rows(item: Map) -> int:
    """The rank of the rows of a plain matrix product."""
    axis = item.out_axes[0][-2]
    assert isinstance(axis, Along)
    return axis.rank


def family(value: int, lifted: LiftedGraph, depth: int = MAX_DEPTH) -> Family:
    """The family that a value belongs to, if it is known to belong to one."""
    known = lifted.shared.get(("family", value), "unknown")
    if known != "unknown":
        return known if isinstance(known, int) else None
    found = _family(value, lifted, depth) if depth else None
    if depth:
        lifted.shared["family", value] = found
    return found


def _family(value: int, lifted: LiftedGraph, depth: int) -> Family:
    maker, shape = lifted.maker.get(value), lifted.values[value].shape
    if maker is None or len(shape) < 2 or shape[-1] != shape[-2]:
        return None
    if isinstance(maker, Reshape):
        kept = lifted.values[maker.value].shape[-2:] == shape[-2:]
        return family(maker.value, lifted, depth - 1) if kept else None
    if len(maker.outs) != 1 or any(o.within or o.outside for o in maker.operands):
        return None
    if maker.contracts:
        return _of_contraction(maker, value, lifted)
    if not maker.linear or maker.coupled or maker.out_axes[0] != _access.identity(len(shape)):
        return None
    if maker.flavour == "moved" and len(maker.operands) == 1:
        same = _keeps_matrices(maker.operands[0], maker, lifted)
        return family(maker.operands[0].value, lifted, depth - 1) if same else None
    return _of_sum_or_multiple(maker, lifted, depth)


def _of_contraction(maker: Map, value: int, lifted: LiftedGraph) -> Family:
    ranks = _mirrors.mirrored(maker, lifted)
    last = {a.rank for a in maker.out_axes[0][-2:] if isinstance(a, Along)}
    return value if ranks is not None and set(ranks) == last else of_product(maker, lifted)


def _of_sum_or_multiple(maker: Map, lifted: LiftedGraph, depth: int) -> Family:
    """Of sums of members and multiples of the identity, times numbers."""
    if maker.flavour not in ("product", "offset"):
        return None
    members, alone = set(), len(maker.operands) == 1
    for operand in maker.operands:
        if maker.flavour == "product" and _is_number(operand, maker, lifted):
            continue
        if maker.flavour == "offset" and _is_identity(operand.value, lifted):
            continue
        if operand.axes != _access.identity(len(maker.ranks)):
            return None
        members.add(family(operand.value, lifted, depth - 1))
    if maker.flavour == "offset" and alone:
        return None  # a number is added to every element
    return members.pop() if len(members) == 1 else None


def _is_number(operand: Operand, maker: Map, lifted: LiftedGraph) -> bool:
    reps = _facts.operand_reps(operand, maker.ranks, lifted.values, lifted.facts)
    return all(_reps.is_const(r, n) for r, n in zip(reps[-2:], maker.ranks[-2:], strict=True))


def _is_identity(value: int, lifted: LiftedGraph) -> bool:
    """Whether a value is known to be a multiple of the identity."""
    content = lifted.folded(value)
    if content is None or content.dim() < 2 or content.shape[-1] != content.shape[-2]:
        return False
    if not content.dtype.is_floating_point:
        return False
    eye = torch.eye(content.shape[-1], dtype=content.dtype, device=content.device)
    return bool(torch.equal(content, content[..., :1, :1] * eye))


def _keeps_matrices(operand: Operand, maker: Map, lifted: LiftedGraph) -> bool:
    """Whether a view leaves the last two dimensions where they are, or swaps them."""
    ranks = [a.rank if isinstance(a, Along) and a.identity else -1 for a in operand.axes[-2:]]
    last = len(maker.ranks) - 1
    kept = sorted(ranks) == [last - 1, last]
    return kept and lifted.values[operand.value].shape[-2:] == maker.ranks[-2:]


def _is_matrix_product(item: Map) -> bool:
    """``…ik,…kj->…ij`` with equal sizes of rows and columns."""
    if len(item.operands) < 2 or any(o.within or o.outside for o in item.operands):
        return False
    out = item.out_axes[0]
    ends = [o.axes[-2:] for o in item.operands[:2]]
    if len(out) < 2 or any(len(e) != 2 for e in ends):
        return False
    flat = [*out[-2:], *ends[0], *ends[1]]
    if not all(isinstance(a, Along) and a.identity for a in flat):
        return False
    i, j, left, inner, again, right = (a.rank for a in flat if isinstance(a, Along))
    leads = [a for axes in (out, *(o.axes for o in item.operands[:2])) for a in axes[:-2]]
    batch = all(isinstance(a, Along | Fixed) for a in leads)
    return batch and (i, j, inner) == (left, right, again) and item.ranks[i] == item.ranks[j]
