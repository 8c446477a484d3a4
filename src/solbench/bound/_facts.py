"""The forward pass over one lifted node: facts of the operands → facts of the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from solbench.bound import _access, _few, _pins, _precision, _region, _reps, _reshape, _spans
from solbench.bound._access import Along
from solbench.bound._lifted import Facts, Map, Operand, Pin, Reshape
from solbench.bound._region import Box, Shape
from solbench.bound._reps import CONST, Rep
from solbench.bound._spans import ANYTHING, Span
from solbench.bound.graph import Value

SCALE_BLOCK = 8
"""A factor that is equal over at least this many products can be applied after they are summed: tensor-core
instructions sum 8 elements or more (16-bit) in one step."""

OFFSET_CLASSES = ("bit", "sign", "nvfp4", "int8", "fp8")
"""Quantised numbers: what is added to all of a sum alike is multiplied apart from them."""

Values = Mapping[int, Value]
Known = Mapping[int, Facts]


def of_map(node: Map, values: Values, facts: Known) -> dict[int, Facts]:
    """Facts of every output of a map."""
    reps = rank_reps(node, values, facts)
    pin = _pin(node, facts)
    precision = _precision_of(node, values, facts)
    span = _span_of(node, values, facts)
    few = _few.of_map(node, facts)
    base, changed = _lineage(node, values, facts)
    result = {}
    for out, axes in zip(node.outs, node.out_axes, strict=True):
        value = values[out]
        same = tuple(reps[a.rank] if isinstance(a, Along) else CONST for a in axes)
        own = _pins.to_output(pin, axes, value.shape, node.ranks) if pin else None
        name = _spans.narrower(_precision.cap(precision, value.dtype), span)
        scaled = _scaled(node, axes, values, facts)
        if scaled is not None and _precision.join(scaled[0], name) == scaled[0]:
            scaled = None
        result[out] = Facts(name, same, own, scaled, base, changed, span, few)
    return result


def of_reshape(node: Reshape, values: Values, facts: Known) -> Facts:
    """The same facts under another shape."""
    source, target = values[node.value].shape, values[node.out].shape
    known = facts[node.value]
    if 0 in source:
        return Facts(known.precision, (None,) * len(target))
    same = _reshape.through_reps(known.same, source, target)
    scaled = known.scaled
    if scaled is not None:
        scaled = (scaled[0], _reshape.through_reps(scaled[1], source, target))
    changed = None if known.changed is None else _reshape.through(known.changed, target)
    return Facts(
        known.precision, same, _reshaped_pin(known.pin, source, target), scaled,
        known.base, changed, known.span, _few.of_reshape(node, known, source, target),
    )  # fmt: skip


def _reshaped_pin(pin: Pin | None, source: Shape, target: Shape) -> Pin | None:
    if pin is None or pin.free is None:
        return pin
    region = _region.of_boxes(target, _reshape.through_box(pin.free, source, target))
    return _pins.of_region(pin.value, region)


def rank_reps(node: Map, values: Values, facts: Known) -> list[Rep]:
    """Along each rank, which iterations compute equal slices."""
    if node.updates is not None and node.flavour == "computed":
        # sums of what is read whole: each position gets a part of its own
        return [None] * len(node.ranks)
    owns = [operand_reps(o, node.ranks, values, facts) for o in node.operands]
    result: list[Rep] = [
        _reps.pair([own[rank] for own in owns], size) for rank, size in enumerate(node.ranks)
    ]
    for rank in node.coupled:
        result[rank] = None
    return result


def operand_reps(operand: Operand, ranks: Shape, values: Values, facts: Known) -> list[Rep]:
    """Along each rank, which iterations read equal slices of this operand."""
    shape = values[operand.value].shape
    own = _access.rank_reps(operand.axes, facts[operand.value].same, shape, ranks)
    for box in (operand.within, operand.outside):
        if box is not None:
            _forget_partial(own, box, ranks)
    return own


def _forget_partial(reps: list[Rep], box: Box, ranks: Shape) -> None:
    joined = {d for j in box.joints for d in j.dims}
    for rank, indices in enumerate(box.sets):
        if len(indices) != ranks[rank] or rank in joined:
            reps[rank] = None


def _pin(node: Map, facts: Known) -> Pin | None:
    if node.pin is None:
        return None
    pins = [_pins.to_space(facts[o.value].pin, o.axes, node.ranks) for o in node.operands]
    return node.pin(pins)


def _precision_of(node: Map, values: Values, facts: Known) -> str:
    """Class before it is capped by the output's dtype; ``fp64`` leaves it to the dtype."""
    classes = [facts[o.value].precision for o in node.operands]
    if node.flavour == "moved":
        if values[node.outs[0]].dtype.is_floating_point and len(classes) > 1:
            # masks and indices beside the data do not widen it
            data = [o.value for o in node.operands if values[o.value].dtype.is_floating_point]
            classes = [facts[v].precision for v in data] or classes
        return _precision.join_all(classes)
    if node.flavour == "picked":
        return classes[0]
    if node.flavour == "product" and len(classes) == 2 and not node.contracts:
        exact = _precision.of_product(*classes)
        if exact:
            return exact
    small = all(c in ("bit", "sign", "int8") for c in classes)
    if small and classes and not node.contracts:
        integer = not values[node.outs[0]].dtype.is_floating_point
        if node.flavour == "offset" or integer:
            return "int8"
    return "fp64"


def _span_of(node: Map, values: Values, facts: Known) -> Span:
    """Numbers that the results can be; of what is moved, masks and indices beside the data do not matter."""

    def span(operand: Operand) -> Span:
        return facts[operand.value].span or _spans.of_dtype(values[operand.value].dtype)

    if node.span is not None:
        return node.span([span(o) for o in node.operands])
    if node.flavour == "picked":
        return span(node.operands[0])
    if node.flavour != "moved":
        return ANYTHING
    data = [o for o in node.operands if values[o.value].dtype.is_floating_point]
    return _spans.hull([span(o) for o in data or node.operands])


def _scaled(
    node: Map, axes: Sequence[_access.Axis], values: Values, facts: Known
) -> tuple[str, tuple[Rep, ...]] | None:
    """The narrower class that is left when factors are applied after summation."""
    if node.contracts or node.coupled or not node.operands:
        return None
    alone = len(node.operands) == 1
    if (node.flavour == "moved" and alone) or node.flavour == "picked":
        found = _passed_on(node.operands[0], node, values, facts)
    elif node.flavour == "product":
        found = _factored(node, values, facts)
    elif node.flavour == "offset":  # of a zero point: (q - z) · w = q · w - z · (sum of w)
        found = _factored(node, values, facts)
        found = found if found is not None and found[0] in OFFSET_CLASSES else None
    else:
        return None
    if found is None:
        return None
    name, reps = found
    return name, tuple(reps[a.rank] if isinstance(a, Along) else CONST for a in axes)


def _passed_on(
    operand: Operand, node: Map, values: Values, facts: Known
) -> tuple[str, list[Rep]] | None:
    scaled = facts[operand.value].scaled
    if scaled is None:
        return None
    shape = values[operand.value].shape
    return scaled[0], _access.rank_reps(operand.axes, scaled[1], shape, node.ranks)


def _factored(node: Map, values: Values, facts: Known) -> tuple[str, list[Rep]] | None:
    """Which operand is the data and which the scale: the one with fewer distinct elements scales."""
    if len(node.operands) > 2:
        return None
    ordered = sorted(node.operands, key=lambda o: -values[o.value].numel)
    data = ordered[0]
    own = _passed_on(data, node, values, facts)
    name = own[0] if own else facts[data.value].precision
    reps: list[Rep] = own[1] if own else [CONST] * len(node.ranks)
    for scale in ordered[1:]:
        factor = operand_reps(scale, node.ranks, values, facts)
        reps = [_reps.pair([a, b], n) for a, b, n in zip(reps, factor, node.ranks, strict=True)]
    return name, reps


def contraction_class(
    operand: Operand, summed: Sequence[int], node: Map, values: Values, facts: Known
) -> str:
    """Class of an operand of a contraction over the ranks ``summed``: its own, or that without its scale."""
    known = facts[operand.value]
    if known.scaled is None:
        return known.precision
    shape = values[operand.value].shape
    reps = _access.rank_reps(operand.axes, known.scaled[1], shape, node.ranks)
    for rank in summed:
        size = node.ranks[rank]
        if _reps.class_count(reps[rank], size) * SCALE_BLOCK > max(size, SCALE_BLOCK):
            return known.precision
    return known.scaled[0]


def _lineage(node: Map, values: Values, facts: Known) -> tuple[int | None, _region.Region | None]:
    """Which value the output is an updated version of, and where it may differ."""
    if not node.operands:
        return None, None
    first = node.operands[0]
    known = facts[first.value]
    shape = values[node.outs[0]].shape
    if node.updates is None:
        if not is_view(node):
            return None, None
        if not _access.is_permutation(first.axes, node.ranks, values[first.value].shape):
            return node.outs[0], _region.empty(shape)  # part of a tensor: a version of itself
        if known.base is None or known.changed is None:
            return None, None
        return known.base, _permuted(known.changed, first.axes, node.ranks)
    if known.base is None or known.changed is None:
        return None, None
    return known.base, _region.of_boxes(shape, [*known.changed.boxes, node.updates])


def is_view(node: Map) -> bool:
    """Whether a map only renames the positions of one tensor."""
    return (
        len(node.operands) == 1
        and node.flavour == "moved"
        and node.ops == 0
        and not node.coupled
        and node.operands[0].within is None
    )


def _permuted(region: _region.Region, axes: _access.Axes, ranks: Shape) -> _region.Region:
    return _region.of_boxes(ranks, [_access.push(b, axes, ranks) for b in region.boxes])
