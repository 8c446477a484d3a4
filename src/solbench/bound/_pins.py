"""How known constants travel: pins of the operands → pin of the result, in the iteration space.

A pin says "equal to this constant outside the box ``free``". Only 0 and -inf matter: zeros remove products,
-inf turns into 0 in a softmax. Values are taken to be finite, so that 0 · x = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np
import torch

from solbench.bound import _access, _region
from solbench.bound._access import Axes
from solbench.bound._lifted import Pin, PinRule
from solbench.bound._region import Box, Joint, Shape
from solbench.bound._sets import DENSE_LIMIT

Pins = Sequence[Pin | None]


def keep(pins: Pins) -> Pin | None:
    """A function that maps 0 to 0 and -inf to -inf."""
    return pins[0]


def keep_zero(pins: Pins) -> Pin | None:
    return pins[0] if pins[0] is not None and pins[0].value == 0 else None


def keep_minus_infinity(pins: Pins) -> Pin | None:
    """Adding or subtracting a finite number from the first operand."""
    return pins[0] if pins[0] is not None and pins[0].value == -inf else None


def exponential(pins: Pins) -> Pin | None:
    """``exp`` and ``softmax``: -inf becomes 0."""
    pin = keep_minus_infinity(pins)
    return Pin(0.0, pin.free) if pin else None


def zero_below(pins: Pins) -> Pin | None:
    """A function that is 0 up to 0."""
    return keep_zero(pins) or exponential(pins)


def negated(pins: Pins) -> Pin | None:
    """A change of sign: 0 stays, infinity turns."""
    pin = pins[0]
    if pin is None or pin.value == 0:
        return pin
    return Pin(-pin.value, pin.free)


def chain(shape: Shape, value: float) -> PinRule:
    """Both operands pinned to ``value``: pinned where either is (a product with 0, a sum with -inf)."""

    def combine(pins: Pins) -> Pin | None:
        free: Box | None = None
        seen = False
        for pin in pins:
            if pin is None or pin.value != value:
                continue
            if pin.free is None:
                return pin
            free = pin.free if free is None else _region.intersect_boxes(free, pin.free, shape)
            seen = True
            if free is None:
                return Pin(value, None)
        return Pin(value, free) if seen else None

    return combine


def product(pins: Pins) -> Pin | None:
    """Zero where either factor is zero; the shape is that of the boxes."""
    zeros = [p for p in pins if p is not None and p.value == 0]
    if not zeros:
        return None
    if any(p.free is None for p in zeros):
        return Pin(0.0, None)
    if len(zeros) == 1:
        return zeros[0]
    return chain(_shape_hint(zeros), 0.0)(zeros)


def total(pins: Pins) -> Pin | None:
    """A sum: -inf where either term is."""
    terms = [p for p in pins if p is not None and p.value == -inf]
    if not terms:
        return None
    return terms[0] if len(terms) == 1 else chain(_shape_hint(terms), -inf)(terms)


def _shape_hint(pins: Sequence[Pin]) -> Shape:
    """Sizes of the joint dimensions; the others do not matter to an intersection."""
    sizes: dict[int, int] = {}
    count = 0
    for pin in pins:
        if pin.free is not None:
            count = len(pin.free.sets)
            for joint in pin.free.joints:
                sizes.update(zip(joint.dims, joint.mask.shape, strict=True))
    return tuple(sizes.get(d, 1) for d in range(count))


def of_box(value: float, free: Box | None) -> PinRule:
    """A constant outside ``free``, whatever the operands are; inside, the first operand's pin if equal."""

    def combine(pins: Pins) -> Pin | None:
        first = pins[0] if pins else None
        if first is not None and first.value == value and free is not None:
            if first.free is None:
                return first
            both = [first, Pin(value, free)]
            return chain(_shape_hint(both), value)(both)
        return Pin(value, free)

    return combine


def zero_within(part: Box | None, shape: Shape) -> PinRule:
    """Zero where all that is read is zero; only ``part`` of the iteration space is read."""

    def combine(pins: Pins) -> Pin | None:
        pin = keep_zero(pins)
        if pin is None or pin.free is None or part is None:
            return pin
        return Pin(0.0, _region.intersect_boxes(pin.free, part, shape))

    return combine


def of_pieces(parts: Sequence[Box | None], shape: Shape) -> PinRule:
    """A concatenation: operand ``i`` fills ``parts[i]`` (``None``: everything); its constants stay."""

    def combine(pins: Pins) -> Pin | None:
        values = {p.value for p in pins if p is not None}
        if not values:
            return None
        value = min(values)  # a mask says more than padding does
        free: list[Box | None] = []
        for pin, part in zip(pins, parts, strict=True):
            own = part if part is not None else _region.full_box(shape)
            if pin is None or pin.value != value:
                free.append(own)
            elif pin.free is not None:
                free.append(_region.intersect_boxes(pin.free, own, shape))
        return of_region(value, _region.of_boxes(shape, free))

    return combine


def of_region(value: float, region: _region.Region) -> Pin | None:
    """A constant outside a region; several boxes become one mask if that is small, else the largest is kept.

    What else is free then counts as constant: too little work, which is safe.
    """
    if region.is_empty:
        return Pin(value, None)
    if region.is_full:
        return None
    if len(region.boxes) == 1:
        return Pin(value, region.boxes[0])
    dims = tuple(d for d in range(len(region.shape)) if _matters(region, d))
    sizes = [region.shape[d] for d in dims]
    if prod(sizes) > DENSE_LIMIT:
        return Pin(value, max(region.boxes, key=lambda b: _region.count_box(b, {})))
    mask = np.zeros(sizes, dtype=np.bool_)
    for box in region.boxes:
        mask |= _region.membership(box, dims, region.shape)
    everything = [range(n) for n in region.shape]
    return Pin(value, _region.make_box(everything, [Joint(dims, mask)], region.shape))


def _matters(region: _region.Region, dim: int) -> bool:
    """Whether some box restricts a dimension."""
    return any(
        len(b.sets[dim]) != region.shape[dim] or any(dim in j.dims for j in b.joints)
        for b in region.boxes
    )


def to_space(pin: Pin | None, axes: Axes, ranks: Shape) -> Pin | None:
    """An operand's pin in the iteration space."""
    if pin is None:
        return None
    return Pin(pin.value, None if pin.free is None else _access.push(pin.free, axes, ranks))


def to_output(pin: Pin | None, axes: Axes, shape: Shape, ranks: Shape) -> Pin | None:
    """A pin in the iteration space as the output sees it: free where any reduced position is free."""
    if pin is None or pin.free is None:
        return pin
    projected = _access.pull(_region.Region(ranks, (pin.free,)), axes, shape)
    if projected.is_empty:
        return Pin(pin.value, None)
    if len(projected.boxes) != 1 or projected.is_full:
        return None
    return Pin(pin.value, projected.boxes[0])


def of_content(content: torch.Tensor) -> Pin | None:
    """Where a known tensor is 0 or -inf, whichever it holds."""
    if content.numel() == 0 or content.numel() > DENSE_LIMIT or content.is_complex():
        return None
    array = content.detach().to(torch.float64 if content.is_floating_point() else content.dtype)
    values = array.cpu().numpy()
    minus = values == -inf if content.is_floating_point() else np.zeros((), dtype=np.bool_)
    # masks are also written with large negative numbers: exp(-1e4) is 0 in every format up to fp64
    if content.is_floating_point():
        minus = minus | (values <= -1e4)
    value = -inf if minus.any() else 0.0
    pinned = minus if minus.any() else values == 0
    if not pinned.any():
        return None
    return Pin(value, box_of_mask(~pinned))


def box_of_mask(mask: np.ndarray) -> Box | None:
    """A dense mask as a box: dimensions along which it does not vary are dropped from the joint."""
    shape = mask.shape
    dims = []
    for dim in range(mask.ndim):
        first = np.take(mask, [0], axis=dim)
        if shape[dim] == 1 or bool((mask == first).all()):
            mask = first
        else:
            dims.append(dim)
    if not dims:
        return _region.full_box(shape) if mask.all() else None
    joint = Joint(tuple(dims), mask.reshape([shape[d] for d in dims]))
    return _region.make_box([range(n) for n in shape], [joint], shape)
