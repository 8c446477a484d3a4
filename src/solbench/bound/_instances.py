"""Small instances of one captured call, to try its lifted form on: real operands of reduced sizes.

A rule never sees how large a tensor is, so what holds at size 9 holds at size 4096. Sizes are reduced so that
the call still accepts its arguments, which the call itself decides: an instance is tried, and dropped if the
call refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import combinations
from math import lcm, prod
from typing import Any

import torch

from solbench.bound import _replay, _reshape
from solbench.bound.graph import ABSENT, Graph, Node, Ref, Value
from solbench.bound.rules._base import find

KEPT_SIZE = 8
"""Sizes up to this one are kept: kernels, strides, small groups."""
SMALL_ELEMENTS = 1 << 12
"""A call whose tensors are no larger is tried as it is."""
LARGEST_ELEMENTS = 1 << 17
"""All tensors of a call that is tried, at most."""
_REFUSALS = (RuntimeError, IndexError, ValueError, TypeError, KeyError, AssertionError)
"""What a call raises when it does not accept its arguments."""
RANDOM = ("rand", "bernoulli", "dropout", "multinomial", "normal", "uniform", "exponential")
"""In the names of calls that draw numbers."""
_RESHAPES = ("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default")


@dataclass(frozen=True, slots=True)
class Unit:
    """One call with those calls before it that its lifted form looks through."""

    nodes: tuple[Node, ...]
    """In execution order; the last one is tried."""
    leaves: tuple[Value, ...]
    """What they read."""
    scalars: Mapping[int, torch.Tensor]
    """Known contents of leaves of one element."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A unit on real operands."""

    graph: Graph
    contents: Mapping[int, torch.Tensor]
    """Of the leaves; floating ones in double precision where the calls allow it."""
    outputs: tuple[torch.Tensor, ...]
    """What the last call gives, by ``graph.outputs``."""
    widened: bool

    def run(self, contents: Mapping[int, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The last call's results on other contents."""
        held = _run(self.graph.nodes, contents, self.graph.values, widened=self.widened)
        return tuple(held[value] for _, value in self.graph.outputs)

    def everything(self) -> dict[int, torch.Tensor]:
        """Contents of all values."""
        return _run(self.graph.nodes, self.contents, self.graph.values, widened=self.widened)


def instance(unit: Unit) -> Instance | None:
    """Real operands for a unit of small tensors; ``None`` if its calls refuse them."""
    for widened in (True, False):
        for index_bound in (None, 1):
            made = _instance(unit, widened=widened, index_bound=index_bound)
            if made is not None:
                return made
    return None


def _instance(unit: Unit, *, widened: bool, index_bound: int | None) -> Instance | None:
    contents = _contents(unit, widened=widened, index_bound=index_bound)
    values = {
        v.id: Value(v.id, v.shape, v.dtype, contents[v.id].stride(), v.id) for v in unit.leaves
    }
    graph = Graph(values=values, nodes=list(unit.nodes))
    graph.inputs = {f"leaf{v.id}": v.id for v in unit.leaves}
    graph.known = {
        v.id: contents[v.id]
        for v in unit.leaves
        if not (v.dtype.is_floating_point or v.dtype.is_complex) or v.id in unit.scalars
    }
    try:
        held = _run(unit.nodes, contents, values, widened=widened)
    except _REFUSALS:
        return None
    outputs = [value for value in unit.nodes[-1].results() if value in held]
    graph.outputs = [(f"result{value}", value) for value in outputs]
    return Instance(graph, contents, tuple(held[v] for v in outputs), widened)


def _run(
    nodes: Sequence[Node],
    contents: Mapping[int, torch.Tensor],
    values: dict[int, Value],
    *,
    widened: bool,
) -> dict[int, torch.Tensor]:
    """All contents; ``values`` gets the geometry of what was made."""
    held = dict(contents)
    draws = any(word in node.op for node in nodes for word in RANDOM)
    with torch.no_grad(), _seeded() if draws else nullcontext():
        for node in nodes:
            call = _replay.widened_node(node, values) if widened else node
            results = _replay.call_node(call, held.__getitem__, values)
            for value, tensor in zip(node.outputs, results, strict=True):
                if value == ABSENT or tensor is None:
                    continue
                held[value] = tensor
                shape, stride = tuple(tensor.shape), tuple(tensor.stride())
                known = values.get(value)
                dtype = tensor.dtype if known is None else known.dtype
                values[value] = Value(value, shape, dtype, stride, value)
    return held


@contextmanager
def _seeded() -> Iterator[None]:
    """The same draws every time, and the caller's generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def _contents(unit: Unit, *, widened: bool, index_bound: int | None) -> dict[int, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    sizes = [n for v in unit.leaves if v.dtype.is_floating_point for n in v.shape if n > 1]
    sizes += [n for c in unit.nodes for a in c.args.values() for n in _integers(a) if n > 1]
    bound = index_bound or min(sizes, default=4)
    result = {}
    for value in unit.leaves:
        shape = value.shape
        if value.id in unit.scalars:
            made = unit.scalars[value.id].reshape(shape)
            result[value.id] = made.double() if widened and value.dtype.is_floating_point else made
        elif value.dtype is torch.bool:
            result[value.id] = torch.ones(shape, dtype=torch.bool).tril() if len(shape) > 1 else (
                torch.arange(prod(shape)).reshape(shape) % 3 > 0
            )  # fmt: skip
        elif value.dtype.is_complex:
            result[value.id] = torch.randn(shape, dtype=torch.complex128, generator=generator)
        elif value.dtype.is_floating_point:
            drawn = torch.randn(shape, dtype=torch.float64, generator=generator)
            result[value.id] = drawn if widened else drawn.to(value.dtype)
        else:
            drawn = torch.randint(0, bound, shape, generator=generator)
            result[value.id] = drawn.to(value.dtype)
    return result


def _integers(argument: Any) -> Iterator[int]:
    if isinstance(argument, tuple | list):
        for item in argument:
            yield from _integers(item)
    elif isinstance(argument, int) and not isinstance(argument, bool):
        yield argument


# ---- sizes ----


def reduced(unit: Unit) -> Iterator[Unit]:
    """The unit with smaller tensors, in several ways; last as it is, if that is small enough."""
    if _elements(unit) <= SMALL_ELEMENTS:
        yield unit
    candidates: list[Unit] = []
    if len(unit.nodes) == 1 and unit.nodes[0].op in _RESHAPES:
        candidates += _small_reshape(unit)
    if len(unit.nodes) == 1 and "split" in unit.nodes[0].op:
        candidates += _small_split(unit)
    if len(unit.nodes) == 1 and unit.nodes[0].op == "aten.unbind.int":
        candidates.append(_small_unbind(unit))
    if _large(unit):
        reductions = (_distinct(unit), _grouped(unit), _divided(unit))
        candidates += [resized(unit, sizes) for sizes in reductions]
    if _elements(unit) > SMALL_ELEMENTS:
        candidates.append(unit)
    yield from (c for c in candidates if _elements(c) <= LARGEST_ELEMENTS)


def _elements(unit: Unit) -> int:
    """Of the leaves, and of what the arguments ask for."""
    asked = [prod(n for n in sizes if n > 0) for sizes in _asked(unit)]
    return max(asked, default=0) + sum(prod(v.shape) for v in unit.leaves)


def _asked(unit: Unit) -> list[tuple[int, ...]]:
    """Shapes among the arguments."""
    given = [n.args.get(name) for n in unit.nodes for name in ("size", "shape")]
    return [g for g in given if isinstance(g, tuple)]


def _large(unit: Unit) -> list[int]:
    shapes = [*(v.shape for v in unit.leaves), *_asked(unit)]
    return sorted({n for shape in shapes for n in shape if n > KEPT_SIZE})


def _distinct(unit: Unit) -> dict[int, int]:
    """Every size above ``KEPT_SIZE`` to a small one of its own, in order."""
    return {n: KEPT_SIZE + 1 + i for i, n in enumerate(_large(unit))}


def _grouped(unit: Unit) -> dict[int, int]:
    """As ``_distinct``, but channels and heads (dimension 1) stay divisible by what divides them."""
    sizes = _distinct(unit)
    small = {n for v in unit.leaves for n in v.shape if n <= KEPT_SIZE}
    small |= {a for n in unit.nodes for a in n.args.values() if isinstance(a, int) and a <= 64}
    for leaf in unit.leaves:
        if len(leaf.shape) > 1 and leaf.shape[1] in sizes:
            whole = lcm(*(d for d in small if d > 1 and leaf.shape[1] % d == 0))
            sizes[leaf.shape[1]] = whole * (2 if whole > KEPT_SIZE else 1 + KEPT_SIZE // whole)
    return sizes


def _divided(unit: Unit) -> dict[int, int]:
    """Sizes and numbers divided by a power of two: sums of sizes stay sums."""
    large = set(_large(unit))
    divisor = 1
    while all(n % (2 * divisor) == 0 for n in large) and min(large) // (2 * divisor) >= 2:
        divisor *= 2
    asked = {n for c in unit.nodes for a in c.args.values() for n in _integers(a) if n > KEPT_SIZE}
    return {n: n // divisor for n in large | asked if n % divisor == 0}


def resized(unit: Unit, sizes: Mapping[int, int]) -> Unit:
    """Sizes replaced in shapes and arguments; products of neighbouring sizes follow them."""
    table = dict(sizes)
    for leaf in unit.leaves:
        for first, last in combinations(range(len(leaf.shape) + 1), 2):
            run = leaf.shape[first:last]
            if len(run) > 1 and all(sizes.get(n, n) for n in run):
                table.setdefault(prod(run), prod(sizes.get(n, n) for n in run))
    table |= sizes
    leaves = tuple(replace(v, shape=tuple(sizes.get(n, n) for n in v.shape)) for v in unit.leaves)
    shapes = {v.id: v.shape for v in leaves}
    nodes = tuple(_resized_node(n, table, shapes) for n in unit.nodes)
    return Unit(nodes, leaves, unit.scalars)


def _resized_node(
    node: Node, table: Mapping[int, int], shapes: Mapping[int, tuple[int, ...]]
) -> Node:
    args = {k: _resized_argument(a, table) for k, a in node.args.items()}
    source, dim = node.args.get("self"), args.get("dim")
    if isinstance(source, Ref) and isinstance(dim, int) and ("index" in args or "start" in args):
        shape = shapes.get(source.id, ())
        if -len(shape) <= dim < len(shape):
            _within(args, shape[dim])
    return Node(node.op, args, node.outputs, node.location)


def _within(args: dict[str, Any], size: int) -> None:
    """Positions along a dimension that has become smaller."""
    if isinstance(args.get("index"), int):
        args["index"] = min(args["index"], size - 1)
    start, end = args.get("start"), args.get("end")
    if isinstance(start, int) and start >= 0:
        args["start"] = start = min(start, size - 1)
        if isinstance(end, int) and end >= 0:
            args["end"] = max(min(end, size), start + 1)


def _resized_argument(argument: Any, table: Mapping[int, int]) -> Any:
    if isinstance(argument, tuple | list):
        return tuple(_resized_argument(item, table) for item in argument)
    if isinstance(argument, int) and not isinstance(argument, bool):
        return table.get(argument, argument)
    return argument


def _small_reshape(unit: Unit) -> Iterator[Unit]:
    """A change of shape, every group of dimensions reduced by itself."""
    (node,), (leaf,) = unit.nodes, unit.leaves
    name = "size" if "size" in node.args else "shape"
    given = list(node.args[name])
    if 0 in leaf.shape or 0 in given:
        return
    if -1 in given:
        rest = prod(n for n in given if n != -1)
        given[given.index(-1)] = prod(leaf.shape) // rest
    source, target = list(leaf.shape), list(given)
    for position, (mine, theirs) in enumerate(_reshape.groups(tuple(source), tuple(target))):
        many, one = (mine, theirs) if len(theirs) == 1 else (theirs, mine)
        if len(one) != 1:
            _divide_alike(source, mine, target, theirs)
            continue
        parts, whole = (source, target) if many is mine else (target, source)
        for dim in many:
            parts[dim] = min(parts[dim], 2 + (position + dim) % 3)
        whole[one[0]] = prod(parts[dim] for dim in many)
    if prod(source) <= SMALL_ELEMENTS:
        small = Node(node.op, {**node.args, name: tuple(target)}, node.outputs, node.location)
        yield Unit((small,), (replace(leaf, shape=tuple(source)),), unit.scalars)


def _divide_alike(
    source: list[int], mine: Sequence[int], target: list[int], theirs: Sequence[int]
) -> None:
    """Groups of several dimensions on both sides: the same factors of two are taken out of both."""
    while True:
        left = next((d for d in mine if source[d] % 2 == 0 and source[d] > KEPT_SIZE), None)
        right = next((d for d in theirs if target[d] % 2 == 0 and target[d] > KEPT_SIZE), None)
        if left is None or right is None:
            return
        source[left] //= 2
        target[right] //= 2


def _small_split(unit: Unit) -> Iterator[Unit]:
    """Parts of a few elements, and other dimensions of two."""
    (node,), (leaf,) = unit.nodes, unit.leaves
    parts = node.args.get("split_sizes")
    change: dict[str, Any]
    size = node.args.get("split_size")
    dim = int(node.args.get("dim", 0))
    if not isinstance(parts, tuple) or not all(isinstance(n, int) for n in parts):
        if not isinstance(size, int):
            return
        whole = leaf.shape[dim]
        parts, change = (2,) * (whole // size) + (1,) * (whole % size > 0), {"split_size": 2}
    else:
        parts = tuple(min(n, 1 + i % 3) for i, n in enumerate(parts))
        change = {"split_sizes": parts}
    shape = [min(n, 2) for n in leaf.shape]
    shape[dim] = sum(parts)
    small = Node(node.op, {**node.args, **change}, node.outputs, node.location)
    yield Unit((small,), (replace(leaf, shape=tuple(shape)),), unit.scalars)


def _small_unbind(unit: Unit) -> Unit:
    """As many slices as the call has results, and other dimensions of two."""
    (node,), (leaf,) = unit.nodes, unit.leaves
    shape = [min(n, 2) for n in leaf.shape]
    shape[int(node.args.get("dim", 0))] = len(node.outputs)
    return replace(unit, leaves=(replace(leaf, shape=tuple(shape)),))


def unit_key(unit: Unit) -> object:
    """What decides how a unit is lifted, its rules among it; equal units need one check.

    ``None`` if an argument has no identity.
    """
    order = {v.id: i for i, v in enumerate(unit.leaves)}
    for node in unit.nodes:
        for value in node.results():
            order.setdefault(value, len(order))
    leaves = tuple((v.shape, v.dtype) for v in unit.leaves)
    scalars = tuple((order[i], float(t)) for i, t in unit.scalars.items())
    nodes = tuple(
        (n.op, find(n.op), tuple((k, _frozen(a, order)) for k, a in n.args.items()), len(n.outputs))
        for n in unit.nodes
    )
    key = (leaves, scalars, nodes)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _frozen(argument: Any, order: Mapping[int, int]) -> object:
    if isinstance(argument, Ref):
        return ("value", order.get(argument.id, -1))
    if isinstance(argument, tuple | list):
        return tuple(_frozen(item, order) for item in argument)
    return (type(argument).__name__, str(argument))
