"""Large masks without their elements: two values, and the box where the first one holds.

A mask of a long sequence has too many elements to be kept, but it comes from few steps: a comparison of two
ranges of positions, a triangle of ones, a conjunction. Those are followed here, exactly or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from solbench.bound import _access, _facts, _pins, _region, _reshape
from solbench.bound._bands import Bands, bands, triangle
from solbench.bound._lifted import Map, Reshape
from solbench.bound._region import Box, Joint, Shape
from solbench.bound._replay import call_node
from solbench.bound._sets import DENSE_LIMIT
from solbench.bound.graph import Node, Ref

if TYPE_CHECKING:
    from solbench.bound._lift import LiftedGraph


@dataclass(frozen=True, slots=True, eq=False)
class TwoValued:
    """``true`` inside a box (``None``: nowhere), ``false`` elsewhere."""

    inside: Box | None
    true: float
    false: float

    @property
    def uniform(self) -> bool:
        return self.true == self.false


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """``rows[i] + columns[j]`` over two dimensions, or its magnitude."""

    row: int
    column: int
    rows: NDArray[Any]
    columns: NDArray[Any]
    absolute: bool = False


Stated = TwoValued | Distance
_COMPARISONS = ("ge", "gt", "le", "lt", "eq", "ne")
_ELEMENTWISE = frozenset(
    (
        *_COMPARISONS, "neg", "mul", "add", "sub", "rsub", "div", "logical_not", "bitwise_not",
        "_to_copy", "to", "clone", "contiguous", "masked_fill", "where", "exp", "log", "copy",
        "minimum", "maximum", "clamp", "bitwise_and", "logical_and", "__and__", "bitwise_or",
        "logical_or", "__or__",
    )
)  # fmt: skip
_CONJUNCTIONS = frozenset(("bitwise_and", "logical_and", "__and__", "mul"))
_DISJUNCTIONS = frozenset(("bitwise_or", "logical_or", "__or__"))


def state(node: Node, lifted: LiftedGraph) -> Stated | None:
    """What the first result of a call is, if that can be said in two values; ``None`` if not."""
    name = node.op.split(".")[1]
    name = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    out = node.outputs[0]
    shape = lifted.values[out].shape
    moved = _moved(out, lifted)
    if moved is not None:
        return moved
    if name in ("tril", "triu"):
        return _triangle(node, name, shape, lifted)
    if name == "abs":
        given = _of(node.args["self"], lifted)
        return replace(given, absolute=True) if isinstance(given, Distance) else None
    if name in ("sub", "add") and node.args.get("alpha", 1) == 1:
        distance = _distance(node, shape, lifted, -1 if name == "sub" else 1)
        if distance is not None:
            return distance
    if name in _COMPARISONS:
        compared = _compared(node, name, shape, lifted)
        if compared is not None:
            return compared
    if name in _CONJUNCTIONS | _DISJUNCTIONS:
        both = _both(node, shape, lifted, either=name in _DISJUNCTIONS)
        if both is not None:
            return both
    return _elementwise(node, shape, lifted) if name in _ELEMENTWISE else None


def pin_of(stated: TwoValued, shape: Shape) -> tuple[float, Box | None] | None:
    """(constant, where the value is something else), for 0 and minus infinity; ``None`` for others."""
    values = [stated.true, stated.false]
    for value in sorted(values):  # a mask of minus infinities says more than its zeros
        if value == 0 or value <= -1e4:
            constant = 0.0 if value == 0 else -np.inf
            if value == stated.false:
                return constant, stated.inside
            rest = complement(stated.inside, shape)
            return None if isinstance(rest, str) else (constant, rest)
    return None


def complement(box: Box | None, shape: Shape) -> Box | str | None:
    """The other positions as a box; ``"unknown"`` if they are none."""
    if box is None:
        return _region.full_box(shape)
    partial = [d for d, s in enumerate(box.sets) if len(s) != shape[d]]
    if not partial and len(box.joints) == 1:
        joint = box.joints[0]
        rest = joint.mask.complement() if isinstance(joint.mask, Bands) else ~joint.mask
        if rest is None:
            return "unknown"
        return _region.make_box(box.sets, [Joint(joint.dims, rest)], shape)
    if not box.joints and len(partial) <= 1:
        if not partial:
            return None
        whole = _region.full(shape).subtract(box)
        return whole.boxes[0] if len(whole.boxes) == 1 else "unknown"
    return "unknown"


# ---- operands ----


def _of(argument: Any, lifted: LiftedGraph) -> Stated | float | None:
    """An operand: stated, a number, or nothing that is known."""
    if isinstance(argument, bool | int | float):
        return float(argument)
    if not isinstance(argument, Ref):
        return None
    value = lifted.resolve(argument.id)
    stated = lifted.stated.get(value)
    if stated is not None:
        return stated
    content = lifted.content(value)
    if content is None or content.is_complex():
        return None
    if content.numel() == 1:
        return float(content)
    if content.numel() and not any(
        s for s, n in zip(content.stride(), content.shape, strict=True) if n > 1
    ):
        return float(content[(0,) * content.dim()])
    if content.dtype is torch.bool and content.numel() <= DENSE_LIMIT:
        return TwoValued(_pins.box_of_mask(content.cpu().numpy()), 1.0, 0.0)
    return None


def _broadcast(argument: Any, shape: Shape, lifted: LiftedGraph) -> Stated | float | None:
    """As ``_of``, over the shape of the result."""
    found = _of(argument, lifted)
    if isinstance(found, TwoValued) and isinstance(argument, Ref):
        own = lifted.values[lifted.resolve(argument.id)].shape
        return _through(found, _access.broadcast(own, shape), shape)
    return found


def _through(stated: TwoValued, axes: _access.Axes, ranks: Shape) -> TwoValued | None:
    """A view of it; ``None`` where the mask cannot be followed."""
    if stated.inside is None:
        return stated
    for joint in stated.inside.joints:
        if isinstance(joint.mask, Bands):
            own = [axes[d] for d in joint.dims]
            if _access.push_bands(joint.mask, own, ranks) is None:
                return None
    return replace(stated, inside=_access.push(stated.inside, axes, ranks))


# ---- steps ----


def _moved(out: int, lifted: LiftedGraph) -> Stated | None:
    """A view of a stated value, or the value itself."""
    resolved = lifted.resolve(out)
    if resolved != out:
        return lifted.stated.get(resolved)
    maker = lifted.maker.get(out)
    if isinstance(maker, Reshape):
        stated = lifted.stated.get(maker.value)
        if not isinstance(stated, TwoValued):
            return None
        if stated.inside is None:
            return stated
        source, target = lifted.values[maker.value].shape, lifted.values[out].shape
        parts = _reshape.through_box(stated.inside, source, target)
        if len(parts) != 1 or parts[0] is None:
            return None
        exact = _region.count_box(parts[0], {}) == _region.count_box(stated.inside, {})
        return replace(stated, inside=parts[0]) if exact else None
    if isinstance(maker, Map) and _facts.is_view(maker) and maker.operands[0].outside is None:
        stated = lifted.stated.get(maker.operands[0].value)
        if isinstance(stated, TwoValued):
            return _through(stated, maker.operands[0].axes, maker.ranks)
    return None


def _triangle(node: Node, name: str, shape: Shape, lifted: LiftedGraph) -> TwoValued | None:
    given = _of(node.args["self"], lifted)
    rows, columns = shape[-2:]
    mask = triangle(rows, columns, int(node.args["diagonal"]), lower=name == "tril")
    box = _box(mask, (len(shape) - 2, len(shape) - 1), shape)
    if isinstance(given, float):
        return TwoValued(box, given, 0.0)
    if isinstance(given, TwoValued) and given.false == 0:
        return TwoValued(_common(given.inside, box, shape), given.true, 0.0)
    return None


def _box(mask: Bands, dims: tuple[int, int], shape: Shape) -> Box | None:
    return _region.make_box([range(n) for n in shape], [Joint(dims, mask)], shape)


def _common(left: Box | None, right: Box | None, shape: Shape) -> Box | None:
    if left is None or right is None:
        return None
    return _region.intersect_boxes(left, right, shape)


def _line(argument: Any, shape: Shape, lifted: LiftedGraph) -> tuple[int, NDArray[Any]] | None:
    """(dimension of the result, numbers) of a known operand that varies along one dimension only."""
    if not isinstance(argument, Ref):
        return None
    content = lifted.content(lifted.resolve(argument.id))
    if content is None or content.is_complex() or content.numel() < 2:
        return None
    wide = [d for d, n in enumerate(content.shape) if n > 1]
    if len(wide) != 1:
        return None
    dtype = torch.float64 if content.dtype.is_floating_point else torch.int64
    line = content.reshape(-1).to(dtype).cpu().numpy()
    return len(shape) - content.dim() + wide[0], line


def _distance(node: Node, shape: Shape, lifted: LiftedGraph, sign: int) -> Distance | None:
    """``x[i] - y[j]``, or such a value shifted by a number."""
    first, second = node.args["self"], node.args["other"]
    given, number = _of(first, lifted), _of(second, lifted)
    if isinstance(given, Distance) and isinstance(number, float) and not given.absolute:
        return replace(given, rows=given.rows + sign * number)
    left, right = _line(first, shape, lifted), _line(second, shape, lifted)
    if left is None or right is None or left[0] == right[0]:
        return None
    return Distance(left[0], right[0], left[1], sign * right[1])


def _compared(node: Node, name: str, shape: Shape, lifted: LiftedGraph) -> TwoValued | None:
    given, number = _of(node.args["self"], lifted), _of(node.args["other"], lifted)
    if not isinstance(given, Distance):
        distance = _distance(node, shape, lifted, -1)
        if distance is None:
            return None
        given, number = distance, 0.0
    if not isinstance(number, float):
        return None
    negated = name == "ne" or (given.absolute and name in ("ge", "gt"))
    if negated:
        name = {"ne": "eq", "ge": "lt", "gt": "le"}[name]
    found = _intervals(given, name, number)
    if found is None:
        return None
    dims, mask = found
    return TwoValued(_box(mask, dims, shape), *((0.0, 1.0) if negated else (1.0, 0.0)))


def _intervals(given: Distance, name: str, number: float) -> tuple[tuple[int, int], Bands] | None:
    """Dimensions and intervals where the comparison holds."""
    turned = Distance(given.column, given.row, given.columns, given.rows, given.absolute)
    for form in (given, turned):
        steps = np.diff(form.columns)
        if not (bool((steps >= 0).all()) or bool((steps <= 0).all())):
            continue
        if form.absolute:
            if name == "eq":
                return None
            low = _one_sided(form, "gt" if name == "lt" else "ge", -number)
            mask = low.intersect(_one_sided(form, name, number))
        elif name == "eq":
            mask = _one_sided(form, "ge", number).intersect(_one_sided(form, "le", number))
        else:
            mask = _one_sided(form, name, number)
        return (form.row, form.column), mask
    return None


def _one_sided(form: Distance, name: str, number: float) -> Bands:
    """Columns with ``rows[i] + columns[j]`` beyond a number, for columns that rise or fall."""
    width = len(form.columns)
    wanted = number - form.rows
    upper = name in ("ge", "gt")
    side: Any = "left" if name in ("ge", "lt") else "right"
    rises = bool((np.diff(form.columns) >= 0).all())
    line = form.columns if rises else form.columns[::-1]
    edge = np.searchsorted(line, wanted, side)
    if not rises:
        edge = width - edge
    nothing, whole = np.zeros(len(wanted), dtype=np.int64), np.full(len(wanted), width)
    return bands(edge, whole, width) if upper == rises else bands(nothing, edge, width)


def _both(node: Node, shape: Shape, lifted: LiftedGraph, *, either: bool) -> TwoValued | None:
    """Two truth values joined; of two that hold outside their boxes, by their opposites."""
    pair = [_broadcast(node.args[a], shape, lifted) for a in ("self", "other")]
    sides = []
    for given in pair:
        if not isinstance(given, TwoValued) or {given.true, given.false} != {0.0, 1.0}:
            return None
        held: Box | str | None = given.inside
        if (given.true == 1.0) == either:
            held = complement(given.inside, shape)
        if isinstance(held, str):
            return None
        sides.append(held)
    common = _common(sides[0], sides[1], shape)
    return TwoValued(common, 0.0, 1.0) if either else TwoValued(common, 1.0, 0.0)


def _elementwise(node: Node, shape: Shape, lifted: LiftedGraph) -> TwoValued | None:
    """An elementwise call on operands of which one is two-valued: it is carried out on the two values."""
    given: dict[int, tuple[float, float]] = {}
    box: TwoValued | None = None
    for ref in node.refs():
        found = _broadcast(Ref(ref), shape, lifted)
        if isinstance(found, float):
            given[ref] = (found, found)
        elif not isinstance(found, TwoValued) or (
            box is not None and found.inside is not box.inside
        ):
            return None
        else:
            box = found
            given[ref] = (found.true, found.false)
    if box is None:
        return None
    values = lifted.values
    operand: Callable[[int], torch.Tensor] = lambda v: torch.tensor(given[v]).to(values[v].dtype)  # noqa: E731
    result = call_node(node, operand, _pairs(given, values))[0]
    if result is None or result.shape != (2,):
        return None
    true, false = result.double().tolist()
    return TwoValued(box.inside, true, false)


def _pairs(given: Mapping[int, object], values: Mapping[int, Any]) -> dict[int, Any]:
    return {ref: values[ref] for ref in given}
