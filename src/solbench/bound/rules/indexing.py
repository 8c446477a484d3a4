"""Gathers: rows touched are read, exactly where the indices are known, else the least possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from solbench.bound import _access, _pins, _sets
from solbench.bound._access import Along, Axes, Axis, Fixed, Table, Whole
from solbench.bound._lifted import Lifted, Map, Operand, Reshape
from solbench.bound._region import Box
from solbench.bound._sets import DENSE_LIMIT, Indices
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, MissingRule, rule
from solbench.bound.rules.views import flat_gather


def known_indices(call: Call, argument: str | Ref, size: int) -> Indices | None:
    """Contents of an index tensor, negative ones counted from the end."""
    content = call.known(argument)
    if content is None:
        return None
    return np.asarray(content.cpu().numpy(), dtype=np.int64) % max(size, 1)


def note_distinct(call: Call, out: int, dim: int) -> None:
    """Remember that the indices of a line (the last dimension) are all different: of a sort, the k greatest."""
    shape = call.values[out].shape
    if shape and dim == len(shape) - 1:
        call.shared["distinct", out] = shape[-1]


def distinct_in_line(call: Call, argument: str | Ref) -> int:
    """How many indices of a line are known to be different; 1 if nothing is known."""
    value = call.id(argument)
    while isinstance(maker := call.maker.get(value), Reshape):
        value = maker.value
    found = call.shared.get(("distinct", value), 1)
    return found if isinstance(found, int) else 1


def _least(call: Call, argument: str | Ref, dim: int, size: int) -> Axis:
    """What indices that are not known read at least: one element, or as many as are different."""
    count = distinct_in_line(call, argument)
    if 1 < count <= size:
        return Table(dim, np.arange(call.value(argument).numel) % count)
    return Fixed()


@rule("aten.index_select")
def index_select(call: Call) -> Iterable[Lifted]:
    if not call.shape():
        yield call.pointwise("self", flavour="moved")
        return
    yield _rows(call, "self", "index", call.dim(), call.shape(0))


@rule("aten.embedding")
def embedding(call: Call) -> Iterable[Lifted]:
    yield from _gather_dim(call, "weight", call.args["indices"], 0)


@rule("aten._embedding_bag", "aten._embedding_bag_forward_only", "aten.embedding_bag")
def embedding_bag(call: Call) -> Iterable[Lifted]:
    """Rows of a table, summed or averaged a bag: the rows that some bag names."""
    weight, out = call.shape("weight"), call.outputs[0]
    where = call.value("indices")
    flat = call.temporary((where.numel,), where.dtype)
    yield Reshape(flat, where.id)
    table = known_indices(call, "indices", weight[0])
    row: Axis = Fixed() if table is None else Table(2, table.reshape(-1))
    ranks = (*call.values[out].shape, where.numel)
    whole = tuple(Whole() for _ in call.shape("offsets"))
    operands = [call.operand("weight", (row, Along(1))), call.operand(flat, (Along(2),))]
    operands.append(call.operand("offsets", whole))
    if call.has("per_sample_weights"):
        operands.append(call.operand("per_sample_weights", (Along(2),)))
    yield Map(
        (out,), (_access.identity(2),), ranks, tuple(operands), flavour="computed",
        coupled=frozenset({0}),
    )  # fmt: skip
    for other in list(call.node.results())[1:]:
        names = [n for n in call.tensors() if n in ("indices", "offsets")]
        shape = call.values[other].shape
        yield Map(
            (other,), (_access.identity(len(shape)),), shape,
            tuple(call.operand(n, tuple(Whole() for _ in call.shape(n))) for n in names),
            flavour="computed", coupled=frozenset(range(len(shape))),
        )  # fmt: skip


@rule("aten.embedding_renorm")
def renormalised(call: Call) -> Iterable[Lifted]:
    raise MissingRule("embedding with max_norm")


def _rows(call: Call, argument: str, index: str, dim: int, ranks: Sequence[int]) -> Map:
    """One index tensor of one dimension picks slices along ``dim``."""
    shape = call.shape(argument)
    table = known_indices(call, index, shape[dim] if shape else 1)
    least = _least(call, index, dim, shape[dim]) if shape else Fixed()
    picked: Axis = least if table is None else Table(dim, table.reshape(-1))
    axes = tuple(picked if d == dim else Along(d) for d in range(len(shape)))
    index_axes = (Along(dim),) if call.shape(index) else ()
    operands = (call.operand(argument, axes), call.operand(index, index_axes))
    return _gather_map(call.outputs[0], tuple(ranks), operands, known=table is not None)


def _gather_map(
    out: int, ranks: tuple[int, ...], operands: tuple[Operand, ...], *, known: bool = True
) -> Map:
    """A gather: values move unchanged, so the index's own class must not widen theirs.

    Where the index is not known, the one element that is read stands for any: its being zero says nothing.
    """
    identity = _access.identity(len(ranks))
    known = known and not any(isinstance(a, Fixed | Whole) for a in operands[0].axes)
    pin = _pins.keep if known else None
    return Map((out,), (identity,), ranks, operands, flavour="picked", pin=pin, ops=0)


def _gather_dim(
    call: Call, argument: str | Ref, index: Ref, dim: int, *, out: int | None = None
) -> Iterable[Lifted]:
    """An index tensor of any shape in place of dimension ``dim``; its dimensions are flattened first."""
    value, where = call.value(argument), call.value(index)
    count = where.numel
    target = call.outputs[0] if out is None else out
    flat_shape = (*value.shape[:dim], count, *value.shape[dim + 1 :])
    flat_index = call.temporary((count,), where.dtype)
    flat = call.temporary(flat_shape, value.dtype)
    yield Reshape(flat_index, where.id)
    table = known_indices(call, index, value.shape[dim])
    least = _least(call, index, dim, value.shape[dim])
    picked: Axis = least if table is None else Table(dim, table.reshape(-1))
    axes = tuple(picked if d == dim else Along(d) for d in range(len(value.shape)))
    operands = (call.operand(value.id, axes), call.operand(flat_index, (Along(dim),)))
    yield _gather_map(flat, flat_shape, operands, known=table is not None)
    yield Reshape(target, flat)


@rule("aten.index.Tensor", "aten._unsafe_index")
def index(call: Call) -> Iterable[Lifted]:
    """Advanced indexing. One index tensor is a gather along a dimension; several pick points together."""
    given = [(d, i) for d, i in enumerate(call.args["indices"]) if isinstance(i, Ref)]
    if any(call.value(i).dtype.itemsize == 1 for _, i in given):
        yield from _by_mask(call, given)
        return
    if len(given) == 1:
        dim, where = given[0]
        yield from _gather_dim(call, "self", where, dim)
        return
    yield from _points(call, given)


def _by_mask(call: Call, given: Sequence[tuple[int, Ref]]) -> Iterable[Lifted]:
    """A boolean index: known masks are index lists."""
    shape = call.shape()
    if len(given) != 1:
        raise MissingRule("several boolean indices")
    dim, where = given[0]
    content = call.known(where)
    width = len(call.shape(where))
    if content is None:
        raise MissingRule("boolean index whose values are not known")
    sizes = shape[dim : dim + width]
    chosen = np.flatnonzero(content.cpu().numpy().reshape(-1))
    merged = (*shape[:dim], int(np.prod(sizes, dtype=np.int64)), *shape[dim + width :])
    flat = call.temporary(merged, call.value("self").dtype)
    yield Reshape(flat, call.id("self"))
    ranks = call.shape(0)
    axes = tuple(Table(dim, chosen) if d == dim else Along(d) for d in range(len(merged)))
    whole = tuple(_access.Whole() for _ in call.shape(where))
    operands = (call.operand(flat, axes), call.operand(where, whole))
    yield _gather_map(call.outputs[0], ranks, operands)


def _points(call: Call, given: Sequence[tuple[int, Ref]]) -> Iterable[Lifted]:
    """Several index tensors, broadcast together, pick points of their dimensions jointly."""
    shape = call.shape()
    dims = [d for d, _ in given]
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    if not adjacent:
        raise MissingRule("index tensors on dimensions that are not adjacent")
    first, count = dims[0], len(dims)
    points = np.broadcast_shapes(*[call.shape(i) for _, i in given])
    total = int(np.prod(points, dtype=np.int64))
    sizes = shape[first : first + count]
    merged = (*shape[:first], int(np.prod(sizes, dtype=np.int64)), *shape[first + count :])
    tables = [known_indices(call, i, shape[d]) for d, i in given]
    flat = call.temporary(merged, call.value("self").dtype)
    yield Reshape(flat, call.id("self"))
    picked: Axis = Fixed()
    known = [t for t in tables if t is not None]
    if len(known) == len(tables):
        spread = np.broadcast_arrays(*known)
        picked = Table(first, np.ravel_multi_index(tuple(spread), sizes).reshape(-1))
    ranks = (*shape[:first], *points, *shape[first + count :])
    line = (*shape[:first], total, *shape[first + count :])
    axes = tuple(picked if d == first else Along(d) for d in range(len(merged)))
    chosen = call.temporary(line, call.value("self").dtype)
    yield _gather_map(chosen, line, (call.operand(flat, axes),))
    result = call.temporary(ranks, call.value("self").dtype)
    yield Reshape(result, chosen)
    identity = _access.identity(len(ranks))
    spread_ranks = ranks[first : first + len(points)]
    reads = [
        call.operand(
            i,
            tuple(_shift(a, first) for a in _access.broadcast(call.shape(i), spread_ranks)),
        )
        for _, i in given
    ]
    operands = (call.operand(result, identity), *reads)
    yield _gather_map(call.outputs[0], ranks, operands)


def _shift(axis: Axis, by: int) -> Axis:
    return Along(axis.rank + by) if isinstance(axis, Along) else axis


@rule("aten.gather", "aten.take_along_dim")
def gather(call: Call) -> Iterable[Lifted]:
    """``out[i, j] = self[i, index[i, j]]`` along one dimension, element by element."""
    where = call.first("index", "indices")
    shape, ranks = call.shape(), call.shape(where)
    if call.args.get("dim") is None or len(shape) != len(ranks) or not shape:
        raise MissingRule("take_along_dim over a flattened tensor")
    dim = call.dim()
    identity = _access.identity(len(ranks))
    ranks = call.shape(0)
    read = call.operand(where, _access.broadcast(call.shape(where), ranks))
    table = known_indices(call, where, shape[dim])
    if table is None or call.value("self").numel > DENSE_LIMIT:
        some = _some_of_line(call, dim)
        if dim == len(shape) - 1 and 1 < distinct_in_line(call, where) == ranks[dim] <= shape[dim]:
            some = Along(dim)
        axes: Axes = tuple(some if d == dim else Along(d) for d in range(len(shape)))
        operands = (call.operand("self", axes), read)
        yield _gather_map(call.outputs[0], ranks, operands, known=False)
        return
    line = _line_table(table, dim)
    if line is not None:
        axes = tuple(Table(d, line) if d == dim else Along(d) for d in range(len(shape)))
        yield _gather_map(call.outputs[0], ranks, (call.operand("self", axes), read))
        return
    places = list(np.indices(ranks, sparse=True))
    places[dim] = np.broadcast_to(table, ranks)
    flat = np.ravel_multi_index(tuple(np.broadcast_arrays(*places)), shape).reshape(-1)
    picked = call.temporary(ranks, call.value("self").dtype)
    yield from _into(flat_gather(call, "self", flat), call.outputs[0], picked)
    yield _gather_map(call.outputs[0], ranks, (call.operand(picked, identity), read))


def _some_of_line(call: Call, dim: int) -> Axis:
    """One element along ``dim``, the least; where it takes the whole line to make one (softmax), the line."""
    maker = call.maker.get(call.id("self"))
    coupled = isinstance(maker, Map) and dim in maker.coupled
    return Whole() if coupled else Fixed()


def _line_table(table: Indices, dim: int) -> Indices | None:
    """The index along ``dim`` if it is the same for all other positions."""
    lines = np.moveaxis(table, dim, -1).reshape(-1, table.shape[dim])
    same = len(lines) and bool((lines == lines[:1]).all())
    return lines[0] if same else None


def _into(nodes: Iterable[Lifted], old: int, new: int) -> Iterable[Lifted]:
    """The same nodes with their final reshape redirected."""
    for node in nodes:
        yield Reshape(new, node.value) if isinstance(node, Reshape) and node.out == old else node


@rule("aten.take")
def take(call: Call) -> Iterable[Lifted]:
    where = call.args["index"]
    flat = call.temporary((call.value("self").numel,), call.value("self").dtype)
    yield Reshape(flat, call.id("self"))
    yield from _gather_dim(call, Ref(flat), where, 0)


@rule("aten.nll_loss_forward", "aten.nll_loss2d_forward", "aten.nll_loss_nd", "aten.nll_loss")
def picked_loss(call: Call) -> Iterable[Lifted]:
    """One class of each row is read."""
    shape, target = call.shape(), call.shape("target")
    dim = min(1, len(shape) - 1)
    table = known_indices(call, "target", shape[dim])
    axes: list[Axis] = [Along(d if d < dim else d - 1) for d in range(len(shape))]
    axes[dim] = _some_of_line(call, dim)
    picked: Axis = Fixed()
    counted = None
    if table is not None and table.ndim == 1 and dim == 1:
        picked = Table(0, table)
        if call.value("self").numel <= DENSE_LIMIT:
            axes[dim] = picked
        counted = _counted(call)
    operands = [call.operand("target", _access.identity(len(target)))]
    if call.has("weight"):
        operands.insert(0, call.operand("weight", (picked,), within=counted))
    operands.insert(0, call.operand("self", tuple(axes), within=counted))
    whole = call.shape(0) == target
    for out in call.outputs[:1]:
        out_axes = _access.identity(len(target)) if whole else ()
        yield Map((out,), (out_axes,), target, tuple(operands), flavour="computed")
    for out in list(call.node.results())[1:]:
        yield Map((out,), ((),), target, tuple(operands[1:]), flavour="computed")


def _counted(call: Call) -> Box | None:
    """Rows whose target is not the one to ignore."""
    content = call.known("target")
    assert content is not None
    rows = _sets.from_mask((content != int(call.args.get("ignore_index", -100))).cpu().numpy())
    return Box((rows,))


@rule("aten.nll_loss_backward", "aten.nll_loss2d_backward")
def picked_loss_backward(call: Call) -> Iterable[Lifted]:
    """One gradient value a row, zero elsewhere."""
    ranks = call.shape()
    dim = min(1, len(ranks) - 1)
    kept = tuple(Along(d) for d in range(len(ranks)) if d != dim)
    grad = kept if call.shape("grad_output") else ()
    operands = [call.operand("grad_output", grad), call.operand("target", kept)]
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, tuple(operands),
        flavour="computed",
    )  # fmt: skip
