"""Pooling and resampling: windows without weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from solbench.bound import _access
from solbench.bound._access import Along, Axes, Axis, Fixed, Table, Taps, Whole
from solbench.bound._lifted import Lifted, Map
from solbench.bound._region import Shape
from solbench.bound._sets import Indices
from solbench.bound.rules._base import Call, rule
from solbench.bound.rules.convolution import Window


def _windowed(
    call: Call, out: int, tables: Sequence[Indices], argument: str, *, linear: bool, moved: bool
) -> Map:
    """Each output position reads one window of the trailing dimensions."""
    produced = call.values[out].shape
    count = len(produced)
    lead = count - len(tables)
    ranks = (*produced, *(t.shape[1] for t in tables))
    axes: Axes = (
        *_access.identity(lead),
        *(_window(lead + d, count + d, t) for d, t in enumerate(tables)),
    )
    return Map(
        (out,), (_access.identity(count),), ranks, (call.operand(argument, axes),),
        flavour="moved" if moved else "computed", linear=linear,
    )  # fmt: skip


def _window(rank: int, tap: int, table: Indices) -> Axis:
    """A window; one that is a single position is a plain read, so that equal slices are seen."""
    return (
        Table(rank, table[:, 0])
        if table.shape[1] == 1 and (table >= 0).all()
        else Taps(rank, tap, table)
    )


def _spread(given: Sequence[int] | int, count: int) -> list[int]:
    numbers = [given] if isinstance(given, int) else list(given)
    return numbers * count if len(numbers) == 1 else numbers


def _tables(call: Call, argument: str, count: int, produced: Shape | None = None) -> list[Indices]:
    kernel = _spread(call.args["kernel_size"], count)
    stride = _spread(call.args.get("stride") or kernel, count)
    padding = _spread(call.args.get("padding", 0), count)
    dilation = _spread(call.args.get("dilation", 1), count)
    outs = (call.shape(0) if produced is None else produced)[-count:]
    ins = call.shape(argument)[-count:]
    settings = zip(kernel, stride, padding, dilation, outs, ins, strict=True)
    return [Window(k, s, p, d).direct(o, i) for k, s, p, d, o, i in settings]


def _dimensions(call: Call) -> int:
    return int(next(c for c in call.node.op.split(".")[1] if c.isdigit()))


@rule(
    "aten.max_pool1d", "aten.max_pool2d", "aten.max_pool3d", "aten.max_pool2d_with_indices",
    "aten.max_pool3d_with_indices", "aten.max_pool1d_with_indices",
)  # fmt: skip
def max_pool(call: Call) -> Iterable[Lifted]:
    argument = call.first("self", "input")
    tables = _tables(call, argument, _dimensions(call))
    for index, out in enumerate(call.outputs):
        yield _windowed(call, out, tables, argument, linear=False, moved=index == 0)


@rule("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def average_pool(call: Call) -> Iterable[Lifted]:
    tables = _tables(call, "self", _dimensions(call))
    yield _windowed(call, call.outputs[0], tables, "self", linear=True, moved=False)


@rule(
    "aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d", "aten.adaptive_avg_pool1d",
    "aten.adaptive_max_pool2d", "aten.adaptive_max_pool3d", "aten.adaptive_max_pool1d",
    "aten.adaptive_avg_pool2d", "aten.adaptive_avg_pool3d",
)  # fmt: skip
def adaptive_pool(call: Call) -> Iterable[Lifted]:
    """Output ``i`` of ``n`` covers ``floor(i·size/n)`` to ``ceil((i+1)·size/n)``."""
    count = _dimensions(call)
    sizes = zip(call.shape(0)[-count:], call.shape()[-count:], strict=True)
    tables = [_adaptive_table(*pair) for pair in sizes]
    average = "avg" in call.node.op
    for out in call.node.results():
        yield _windowed(call, out, tables, "self", linear=average, moved=not average)


def _adaptive_table(outputs: int, inputs: int) -> Indices:
    starts = np.arange(outputs) * inputs // outputs
    ends = -(-(np.arange(1, outputs + 1) * inputs) // outputs)
    width = int((ends - starts).max()) if outputs else 1
    where = starts[:, None] + np.arange(width)[None, :]
    return np.where(where < ends[:, None], where, -1)


@rule("aten.max_unpool2d", "aten.max_unpool3d")
def unpool(call: Call) -> Iterable[Lifted]:
    """Values go to the places that the indices say, within their channel."""
    ranks = call.shape(0)
    lead = len(ranks) - _dimensions(call)
    operands = tuple(
        call.operand(a, tuple(Along(d) if d < lead else Whole() for d in range(len(call.shape(a)))))
        for a in ("self", "indices")
    )
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, operands, flavour="computed",
        coupled=frozenset(range(lead, len(ranks))), ops=0,
    )  # fmt: skip


@rule("aten.fractional_max_pool2d", "aten.fractional_max_pool3d")
def fractional_pool(call: Call) -> Iterable[Lifted]:
    """Windows at random places: the samples are read, and one element a window at least."""
    count = _dimensions(call)
    lead = len(call.shape()) - count
    for out in call.node.results():
        ranks = call.values[out].shape
        own: Axes = tuple(Along(d) if d < lead else Fixed() for d in range(len(ranks)))
        operands = [call.operand("self", own)]
        operands.append(
            call.operand("random_samples", tuple(Whole() for _ in call.shape("random_samples")))
        )
        yield Map(
            (out,), (_access.identity(len(ranks)),), ranks, tuple(operands), flavour="computed",
            coupled=frozenset(range(lead, len(ranks))),
        )  # fmt: skip


@rule("aten._upsample_bilinear2d_aa", "aten._upsample_bicubic2d_aa")
def smooth(call: Call) -> Iterable[Lifted]:
    """Weighted neighbours; of the window of a shrinking filter the middle alone has surely a weight."""
    argument = call.first("input", "self")
    ranks, shape = call.shape(0), call.shape(argument)
    axes: list[Axis] = [Along(0), Along(1)]
    for dim in (2, 3):
        ratio = _ratio(call, dim, ranks[dim], shape[dim])
        middle = np.floor((np.arange(ranks[dim]) + 0.5) * ratio).astype(np.int64)
        reach = max(int(ratio), 1) // 2
        where = middle[:, None] + np.arange(-reach, reach + 1)[None, :]
        inside = (where >= 0) & (where < shape[dim])
        axes.append(Taps(dim, dim + 2, np.where(inside, where, -1)))
    widths = tuple(a.table.shape[1] for a in axes if isinstance(a, Taps))
    yield Map(
        call.outputs[:1], (_access.identity(4),), (*ranks, *widths),
        (call.operand(argument, tuple(axes)),), flavour="computed", linear=True,
    )  # fmt: skip


@rule("aten.affine_grid_generator")
def affine_grid(call: Call) -> Iterable[Lifted]:
    """``grid[n, y, x, i] = sum over j of theta[n, i, j] * (x, y, 1)[j]``."""
    ranks = call.shape(0)
    last = len(ranks) - 1
    axes: Axes = (Along(0), Along(last), Along(len(ranks)))
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), (*ranks, call.shape("theta")[2]),
        (call.operand("theta", axes),), flavour="computed",
        coupled=frozenset(range(1, last)), ops=2,
    )  # fmt: skip


@rule("aten.upsample_nearest1d", "aten.upsample_nearest2d", "aten.upsample_nearest3d",
      "aten._upsample_nearest_exact1d", "aten._upsample_nearest_exact2d",
      "aten._upsample_nearest_exact3d")  # fmt: skip
def nearest(call: Call) -> Iterable[Lifted]:
    argument = call.first("input", "self")
    ranks, shape = call.shape(0), call.shape(argument)
    tables = _nearest_tables(call, ranks, shape)
    axes: list[Axis] = [
        Along(d) if d < 2 or n == m else Table(d, tables[d - 2][:, 0])
        for d, (n, m) in enumerate(zip(ranks, shape, strict=True))
    ]
    yield call.moved(ranks, tuple(axes), argument)


def _nearest_tables(call: Call, ranks: Shape, shape: Shape) -> list[Indices]:
    """(position enlarged, 0) → position, for each trailing dimension."""
    shift = 0.5 if "exact" in call.node.op else 0.0
    tables = []
    for dim, (outputs, inputs) in enumerate(zip(ranks, shape, strict=True)):
        where = np.floor((np.arange(outputs) + shift) * _ratio(call, dim, outputs, inputs))
        tables.append(np.minimum(where.astype(np.int64), inputs - 1)[:, None])
    return tables[2:]


@rule("aten.upsample_bilinear2d", "aten.upsample_linear1d", "aten.upsample_trilinear3d",
      "aten.upsample_bicubic2d")  # fmt: skip
def interpolate(call: Call) -> Iterable[Lifted]:
    """Weighted neighbours; the nearer one is always needed (the least that is read)."""
    argument = call.first("input", "self")
    tables = _neighbours(call, call.shape(0), call.shape(argument))
    yield _windowed(call, call.outputs[0], tables, argument, linear=True, moved=False)


def _neighbours(call: Call, ranks: Shape, shape: Shape) -> list[Indices]:
    """(position enlarged, lower or upper neighbour) → position, for each trailing dimension."""
    corners = bool(call.args.get("align_corners"))
    tables = []
    for dim, (outputs, inputs) in enumerate(zip(ranks, shape, strict=True)):
        if corners:
            where = np.arange(outputs) * ((inputs - 1) / max(outputs - 1, 1))
        else:
            ratio = _ratio(call, dim, outputs, inputs)
            where = np.maximum((np.arange(outputs) + 0.5) * ratio - 0.5, 0)
        low = np.minimum(np.floor(where).astype(np.int64), inputs - 1)
        high = np.where(where > low, np.minimum(low + 1, inputs - 1), low)
        tables.append(np.stack([low, high], axis=1))
    return tables[2:]


def _ratio(call: Call, dim: int, outputs: int, inputs: int) -> float:
    """Input positions an output position: a given scale factor counts, not the sizes."""
    if dim < 2:
        return 1.0
    given = call.args.get("scale_factors")
    if given:
        return 1.0 / float(given[dim - 2])
    names = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
    own = names[len(call.shape(0)) - 2][dim - 2]
    factor = call.args.get(own)
    return 1.0 / float(factor) if factor else inputs / outputs


@rule("aten.grid_sampler_2d", "aten.grid_sampler_3d")
def sample(call: Call) -> Iterable[Lifted]:
    """Positions depend on the grid: the grid is read, and at least one position of the input."""
    ranks = call.shape(0)
    source: Axes = (Along(0), Along(1), *(Fixed() for _ in ranks[2:]))
    grid: Axes = (Along(0), *(Along(2 + d) for d in range(len(ranks) - 2)), Along(len(ranks)))
    operands = (call.operand("input", source), call.operand("grid", grid))
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), (*ranks, len(ranks) - 2), operands,
        flavour="computed", ops=4,
    )  # fmt: skip


@rule("aten.avg_pool2d_backward", "aten.avg_pool3d_backward")
def average_back(call: Call) -> Iterable[Lifted]:
    """Every position gets a share of each window that it lies in."""
    yield _spread_back(call, _tables(call, "self", _dimensions(call), call.shape("grad_output")))


@rule("aten._adaptive_avg_pool2d_backward", "aten._adaptive_avg_pool3d_backward")
def adaptive_back(call: Call) -> Iterable[Lifted]:
    count = _dimensions(call)
    sizes = zip(call.shape("grad_output")[-count:], call.shape(0)[-count:], strict=True)
    yield _spread_back(call, [_adaptive_table(*pair) for pair in sizes])


@rule("aten.upsample_nearest1d_backward", "aten.upsample_nearest2d_backward",
      "aten.upsample_nearest3d_backward", "aten._upsample_nearest_exact1d_backward",
      "aten._upsample_nearest_exact2d_backward", "aten._upsample_nearest_exact3d_backward")  # fmt: skip
def nearest_back(call: Call) -> Iterable[Lifted]:
    yield _spread_back(call, _nearest_tables(call, call.shape("grad_output"), call.shape(0)))


@rule("aten.upsample_linear1d_backward", "aten.upsample_bilinear2d_backward",
      "aten.upsample_trilinear3d_backward")  # fmt: skip
def interpolate_back(call: Call) -> Iterable[Lifted]:
    yield _spread_back(call, _neighbours(call, call.shape("grad_output"), call.shape(0)))


def _spread_back(call: Call, tables: Sequence[Indices]) -> Map:
    """The gradient of what read its input through ``tables``: linear in the gradient, which alone is needed."""
    sizes = call.shape(0)[-len(tables) :]
    backwards = [_readers(table, size) for table, size in zip(tables, sizes, strict=True)]
    return _windowed(call, call.outputs[0], backwards, "grad_output", linear=True, moved=False)


def _readers(table: Indices, size: int) -> Indices:
    """From (window, tap) → position to (position, turn) → window, -1 where no window is left."""
    window, tap = np.nonzero(table >= 0)
    pairs = np.unique(np.stack([table[window, tap], window], axis=1), axis=0)
    counts = np.bincount(pairs[:, 0], minlength=size)
    turn = np.arange(len(pairs)) - (np.cumsum(counts) - counts)[pairs[:, 0]]
    result = np.full((size, max(1, int(counts.max(initial=0)))), -1, dtype=np.int64)
    result[pairs[:, 0], turn] = pairs[:, 1]
    return result


@rule("aten.max_pool2d_with_indices_backward", "aten.max_pool3d_with_indices_backward")
def greatest_back(call: Call) -> Iterable[Lifted]:
    """The gradient and the indices; the input's values are not needed."""
    names = [a for a in ("grad_output", "indices") if call.has(a)]
    ranks = call.shape(0)
    operands = tuple(call.operand(a, tuple(Whole() for _ in call.shape(a))) for a in names)
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, operands, flavour="computed",
        coupled=frozenset(range(len(ranks))),
    )  # fmt: skip
