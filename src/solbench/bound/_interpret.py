"""An interpreter of lifted nodes: what a map's access maps say, carried out on small tensors.

Two readings of the same maps. ``reach`` carries marks: which output elements depend, by the maps, on marked
elements of the operands. ``contract`` carries numbers: a contraction gathered through its access maps,
multiplied and summed. Both know nothing of the operation that was captured, which is what they are compared
with.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import torch

from solbench.bound import _region
from solbench.bound._access import Along, Axis, Fixed, Table, Taps, Whole
from solbench.bound._lifted import Map, Operand
from solbench.bound._region import Box, Shape

LARGEST_SPACE = 1 << 22
"""Points of an iteration space that is interpreted, at most."""


class TooLarge(Exception):
    """The iteration space has too many points to be interpreted."""


def reach(
    node: Map, marks: Mapping[int, torch.Tensor], shapes: Mapping[int, Shape]
) -> dict[int, torch.Tensor]:
    """Marks of every output: elements that read a marked element of some operand.

    ``marks`` holds boolean tensors; an operand that is missing has no mark.
    """
    if prod(node.ranks) > LARGEST_SPACE:
        raise TooLarge
    space = torch.zeros(node.ranks, dtype=torch.bool)
    for operand in node.operands:
        mark = marks.get(operand.value)
        if mark is not None and bool(mark.any()):
            space |= _read(mark, operand, node.ranks)
    for rank in node.coupled:
        space |= space.any(dim=rank, keepdim=True)
    return {
        out: _projected(space, axes).reshape(shapes[out])
        for out, axes in zip(node.outs, node.out_axes, strict=True)
    }


def _read(mark: torch.Tensor, operand: Operand, ranks: Shape) -> torch.Tensor:
    """Points of the iteration space that read a mark."""
    whole = [d for d, axis in enumerate(operand.axes) if isinstance(axis, Whole)]
    axes: tuple[Axis, ...] = tuple(
        Fixed() if isinstance(axis, Whole) else axis for axis in operand.axes
    )
    for dim in whole:
        mark = mark.any(dim=dim, keepdim=True)
    points = gather(mark, axes, ranks).expand(ranks)
    if operand.within is not None:
        points = points & _points(operand.within, ranks)
    if operand.outside is not None:
        points = points & ~_points(operand.outside, ranks)
    return points


def _points(box: Box, ranks: Shape) -> torch.Tensor:
    everything = tuple(range(len(ranks)))
    return torch.from_numpy(_region.membership(box, everything, ranks).copy())


def gather(tensor: torch.Tensor, axes: tuple[Axis, ...], ranks: Shape) -> torch.Tensor:
    """A tensor read through its access map: one dimension a rank, of size 1 where it is not used.

    What lies outside the tensor reads as zero, or as no mark.
    """
    if not axes:
        return tensor.reshape([1] * len(ranks))
    if 0 in tensor.shape:
        return tensor.new_zeros([1] * len(ranks))
    indices, inside = [], None
    for axis, size in zip(axes, tensor.shape, strict=True):
        index = _index(axis, ranks)
        valid = (index >= 0) & (index < size)
        if not bool(valid.all()):
            inside = valid if inside is None else inside & valid
            index = index.clamp(0, size - 1)
        indices.append(index)
    found = tensor[tuple(indices)]
    return found if inside is None else found * inside.to(found.dtype)


def _index(axis: Axis, ranks: Shape) -> torch.Tensor:
    form = [1] * len(ranks)
    if isinstance(axis, Fixed):
        return torch.full(form, axis.index)
    if isinstance(axis, Taps):
        form[axis.rank], form[axis.tap] = axis.table.shape
        table = torch.from_numpy(axis.table.copy())
        return (table if axis.rank < axis.tap else table.T).reshape(form)
    assert isinstance(axis, Along | Table)
    form[axis.rank] = ranks[axis.rank]
    if isinstance(axis, Table):
        return torch.from_numpy(axis.table.copy()).reshape(form)
    return (axis.start + axis.step * torch.arange(ranks[axis.rank])).reshape(form)


def _projected(space: torch.Tensor, axes: tuple[Axis, ...]) -> torch.Tensor:
    """The space as an output sees it: any over the ranks that it lacks."""
    kept = [axis.rank for axis in axes if isinstance(axis, Along)]
    lost = [rank for rank in range(space.dim()) if rank not in kept]
    if lost:
        space = space.any(dim=lost) if len(lost) > 1 else space.any(dim=lost[0])
    return space.permute([sorted(kept).index(rank) for rank in kept])


def contract(
    node: Map, held: Mapping[int, torch.Tensor], shapes: Mapping[int, Shape]
) -> torch.Tensor | None:
    """The value of a contraction, in double precision; ``None`` if an operand has no numbers."""
    first, second = node.operands[:2]
    if first.value not in held or second.value not in held or len(node.operands) > 2:
        return None
    if any(isinstance(a, Whole) for o in (first, second) for a in o.axes):
        return None
    letters = "abcdefghijklmnopqrstuvwxyz"
    terms, factors = [], []
    for operand in (first, second):
        found = gather(held[operand.value], operand.axes, node.ranks)
        if found.numel() > LARGEST_SPACE:
            raise TooLarge
        if operand.within is not None or operand.outside is not None:
            return None
        used = [rank for rank in range(len(node.ranks)) if found.shape[rank] != 1]
        terms.append("".join(letters[rank] for rank in used))
        factors.append(found.reshape([found.shape[rank] for rank in used]))
    kept = [axis.rank for axis in node.out_axes[0] if isinstance(axis, Along)]
    present = [rank for rank in kept if any(letters[rank] in term for term in terms)]
    absent = [rank for rank in range(len(node.ranks)) if rank not in kept]
    times = prod(
        node.ranks[rank] for rank in absent if not any(letters[rank] in term for term in terms)
    )
    equation = ",".join(terms) + "->" + "".join(letters[rank] for rank in present)
    result = torch.einsum(equation, *factors) * times
    form = [node.ranks[rank] if rank in present else 1 for rank in kept]
    return result.reshape(form).expand([node.ranks[r] for r in kept]).reshape(shapes[node.outs[0]])
