"""The inverse of a view: put what was written through it back into what it is a view of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from solbench.bound.capture._aliases import Geometry
from solbench.bound.graph import Ref


@dataclass(frozen=True, slots=True)
class ViewWrite:
    """A view call and what its result now holds."""

    op: str
    args: dict[str, Any]
    """Of the view call."""
    parent: Ref
    """What the parent held before."""
    parent_geometry: Geometry
    child: Ref
    """What the view holds now."""
    child_geometry: Geometry


@dataclass(frozen=True, slots=True)
class WriteBack:
    """The call whose result is the parent's new contents."""

    op: str
    args: dict[str, Any]
    keeps_old: bool
    """It keeps a part of the parent's old contents."""


def write_back(write: ViewWrite) -> WriteBack:
    """The call that writes ``child`` into ``parent``; a strided scatter if the view has no rule."""
    return _RULES.get(write.op, _strided)(write)


def _scatter(op: str) -> Callable[[ViewWrite], WriteBack]:
    def rule(write: ViewWrite) -> WriteBack:
        rest = {name: value for name, value in write.args.items() if name != "self"}
        return WriteBack(op, {"self": write.parent, "src": write.child, **rest}, keeps_old=True)

    return rule


def _reshape(write: ViewWrite) -> WriteBack:
    args = {"self": write.child, "size": write.parent_geometry[0]}
    return WriteBack("aten.view.default", args, keeps_old=False)


def _same_call(write: ViewWrite) -> WriteBack:
    return WriteBack(write.op, {**write.args, "self": write.child}, keeps_old=False)


def _permute(write: ViewWrite) -> WriteBack:
    rank = len(write.args["dims"])
    order = [dim % rank for dim in write.args["dims"]]
    inverse = tuple(order.index(dim) for dim in range(rank))
    args = {"self": write.child, "dims": inverse}
    return WriteBack("aten.permute.default", args, keeps_old=False)


def _dtype(write: ViewWrite) -> WriteBack:
    args = {"self": write.child, "dtype": write.parent_geometry[3]}
    return WriteBack("aten.view.dtype", args, keeps_old=False)


def _complex(op: str) -> Callable[[ViewWrite], WriteBack]:
    def rule(write: ViewWrite) -> WriteBack:
        return WriteBack(op, {"self": write.child}, keeps_old=False)

    return rule


def _strided(write: ViewWrite) -> WriteBack:
    shape, stride, offset = write.child_geometry[:3]
    args = {
        "self": write.parent,
        "src": write.child,
        "size": shape,
        "stride": stride,
        "storage_offset": offset,
    }
    return WriteBack("aten.as_strided_scatter.default", args, keeps_old=True)


_RULES: dict[str, Callable[[ViewWrite], WriteBack]] = {
    "aten.slice.Tensor": _scatter("aten.slice_scatter.default"),
    "aten.select.int": _scatter("aten.select_scatter.default"),
    "aten.diagonal.default": _scatter("aten.diagonal_scatter.default"),
    "aten.view.default": _reshape,
    "aten._unsafe_view.default": _reshape,
    "aten._reshape_alias.default": _reshape,
    "aten.unsqueeze.default": _reshape,
    "aten.squeeze.default": _reshape,
    "aten.squeeze.dim": _reshape,
    "aten.squeeze.dims": _reshape,
    "aten.t.default": _same_call,
    "aten.transpose.int": _same_call,
    "aten._conj.default": _same_call,
    "aten._neg_view.default": _same_call,
    "aten.permute.default": _permute,
    "aten.view.dtype": _dtype,
    "aten.view_as_real.default": _complex("aten.view_as_complex.default"),
    "aten.view_as_complex.default": _complex("aten.view_as_real.default"),
}
