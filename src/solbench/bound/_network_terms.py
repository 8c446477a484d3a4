"""Terms of a sum that a product may be spread over: tensors that repeat themselves, identities."""

from __future__ import annotations

import torch

from solbench.bound import _facts
from solbench.bound._access import Along, Taps
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._network_parts import is_gather

MAX_STEPS = 8
"""Steps that are followed behind a term."""


def is_broadcast(operand: Operand, maker: Map) -> bool:
    """Whether an operand is the same along some rank of what it is part of."""
    own = {r for a in operand.axes for r in _ranks(a)}
    return any(n != 1 and r not in own for r, n in enumerate(maker.ranks))


def _ranks(axis: object) -> tuple[int, ...]:
    if isinstance(axis, Taps):
        return (axis.rank, axis.tap)
    rank = getattr(axis, "rank", None)
    return () if rank is None else (rank,)


def repeats(operand: Operand, maker: Map, lifted: LiftedGraph) -> bool:
    """Whether a term has fewer elements than the sum: broadcast, gathered, or a product of two such."""
    return is_broadcast(operand, maker) or _made_of_fewer(operand.value, lifted, MAX_STEPS)


def _made_of_fewer(value: int, lifted: LiftedGraph, steps: int) -> bool:
    maker = lifted.maker.get(value)
    if maker is None or not steps:
        return False
    if isinstance(maker, Reshape):
        return _made_of_fewer(maker.value, lifted, steps - 1)
    if is_gather(maker):
        return True
    if not maker.linear or maker.contracts or maker.coupled or not maker.operands:
        return False
    if len(maker.operands) == 1:
        (only,) = maker.operands
        return is_broadcast(only, maker) or _made_of_fewer(only.value, lifted, steps - 1)
    if maker.flavour == "product":
        return all(is_broadcast(o, maker) for o in maker.operands) or any(
            _made_of_fewer(o.value, lifted, steps - 1) for o in maker.operands
        )
    return False


def largest_term(maker: Map, lifted: LiftedGraph) -> list[int]:
    """Which term of a sum is followed, if a product may be spread over it; the other is multiplied by itself.

    The one with the most elements: what both terms are multiplied by may be a sum as well, and the product of
    what is not followed on both sides is left out.
    """
    if not any(repeats(o, maker, lifted) for o in maker.operands):
        return []

    def order(place: int) -> tuple[bool, int]:
        value = maker.operands[place].value
        return is_diagonal(value, lifted), -_elements(value, lifted)

    return sorted(range(len(maker.operands)), key=order)[:1]


def _elements(value: int, lifted: LiftedGraph) -> int:
    """Of the tensor that a value is a view of."""
    while (maker := lifted.maker.get(value)) is not None:
        if isinstance(maker, Reshape):
            value = maker.value
        elif _facts.is_view(maker) and not is_gather(maker):
            value = maker.operands[0].value
        else:
            break
    return lifted.values[value].numel


def origin(value: int, lifted: LiftedGraph) -> int:
    """The tensor that a value holds all elements of, rearranged or repeated, or gathers slices of."""
    while (maker := lifted.maker.get(value)) is not None:
        if isinstance(maker, Reshape):
            value = maker.value
        elif is_gather(maker) or (_facts.is_view(maker) and _reads_all(maker, lifted)):
            value = maker.operands[0].value
        else:
            break
    return value


def _reads_all(view: Map, lifted: LiftedGraph) -> bool:
    shape = lifted.values[view.operands[0].value].shape
    return all(
        size == 1 or (isinstance(axis, Along) and axis.identity and view.ranks[axis.rank] == size)
        for axis, size in zip(view.operands[0].axes, shape, strict=True)
    )


def is_diagonal(value: int, lifted: LiftedGraph) -> bool:
    """Whether a known matrix has at most one element a row and a column: to multiply by it is to scale."""
    content = lifted.folded(value)
    if content is None or content.dim() < 2 or not content.dtype.is_floating_point:
        return False
    there = content != 0
    return bool((torch.count_nonzero(there, -1) <= 1).all()) and bool(
        (torch.count_nonzero(there, -2) <= 1).all()
    )
