"""How to make one alias again from its parent, by a call with one result."""

from __future__ import annotations

from typing import Any

import torch

from solbench.bound.capture._aliases import Alias, ViewOf
from solbench.bound.graph import Ref

_SPLITS = (
    "aten.split.Tensor",
    "aten.split_with_sizes.default",
    "aten.unsafe_split.Tensor",
    "aten.unsafe_split_with_sizes.default",
)


def single_view(
    op: str, args: dict[str, Any], result: torch.Tensor, parent: Alias, position: int
) -> ViewOf:
    """The view behind result number ``position`` of a call on ``parent``.

    A piece of ``split`` or ``unbind`` becomes the slice or selection that gives the same elements.
    """
    if op == "aten.unbind.int":
        return ViewOf(
            parent, "aten.select.int", {"self": None, "dim": args["dim"], "index": position}
        )
    if op in _SPLITS:
        return _piece(args, result, parent, position)
    if isinstance(args.get("self"), Ref):
        return ViewOf(parent, op, {**args, "self": None})
    return _strided(result, parent)


def _piece(args: dict[str, Any], result: torch.Tensor, parent: Alias, position: int) -> ViewOf:
    dim = args["dim"]
    sizes = args.get("split_sizes") or [args["split_size"]] * position
    start = sum(sizes[:position])
    slicing = {
        "self": None,
        "dim": dim,
        "start": start,
        "end": start + result.shape[dim],
        "step": 1,
    }
    return ViewOf(parent, "aten.slice.Tensor", slicing)


def _strided(result: torch.Tensor, parent: Alias) -> ViewOf:
    strides = {
        "self": None,
        "size": tuple(result.shape),
        "stride": result.stride(),
        "storage_offset": result.storage_offset(),
    }
    return ViewOf(parent, "aten.as_strided.default", strides)
