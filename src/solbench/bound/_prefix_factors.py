"""Factors of a pair of positions that are a product of a factor of either: what a running state can carry.

``gamma ** (i - j)``, ``exp(c[i] - c[j])``, ``u[i] / w[j]``: followed back through the calls that make them,
or found in the numbers of a table. Only pairs that the mask leaves matter: what is said is said of those.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from solbench.bound import _facts, _prefix_dims, _prefix_tables, _reps
from solbench.bound._access import Along
from solbench.bound._bands import Bands
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._prefix_dims import Atoms, Dim, Indices
from solbench.bound._prefix_places import Places
from solbench.bound._region import Box, Shape
from solbench.bound._sets import Mask
from solbench.bound._stated import Distance, TwoValued

MAX_DEPTH = 32
"""Calls that are followed behind a factor."""
TABLE_ELEMENTS = 1 << 24
"""Largest table whose numbers are looked at."""
ROUNDING = 1e-5
"""Part of a number that it may be off besides its rounding: powers of a decay are computed in float32."""
_POWERS = frozenset(("reciprocal", "rsqrt", "sqrt", "square", "abs"))
"""Functions of a product that are the product of the function."""
_MASKS = frozenset(("masked_fill", "where", "tril", "triu"))


Placed = tuple[int, Sequence[Dim]]
"""A value and its dimensions."""


def call_names(lifted: LiftedGraph) -> dict[int, str]:
    """Value → the call that makes it: ``masked_fill.Scalar`` for ``aten.masked_fill_.Scalar``.

    Only ``pow_.Scalar`` is no ``pow.Scalar``: the number is its exponent.
    """
    result = {}
    for step in lifted.steps:
        outs = (step.lifted.out,) if isinstance(step.lifted, Reshape) else step.lifted.outs
        name, _, overload = step.node.op.partition(".")[2].partition(".")
        if name == "pow_" and overload == "Scalar":
            overload = "Tensor_Scalar"
        result.update(dict.fromkeys(outs, f"{name.rstrip('_')}.{overload}"))
    return result


@dataclass(slots=True)
class Factors:
    """What is asked of factors behind one contraction, whose rows and columns are pairs of positions."""

    lifted: LiftedGraph
    places: Places
    names: dict[int, str]
    """Value → the call that makes it."""
    answers: dict[object, bool] = field(default_factory=dict)
    """What was found before."""
    _pairs: Mask | Bands | None = None
    _mark: int | None = None

    def call(self, value: int) -> str:
        """Name of the call that makes a value, without its overload."""
        return self.names.get(value, "").partition(".")[0]

    @property
    def space(self) -> Indices:
        return self.places.space

    @property
    def rows(self) -> Atoms:
        return self.places.of(self.places.rows)

    @property
    def columns(self) -> Atoms:
        return self.places.of(self.places.columns)

    @property
    def pairs(self) -> Mask | Bands | None:
        """Pairs of positions that matter, over one index each; ``None``: all."""
        if self._pairs is None:
            self._pairs = self.places.pairs()
        return self._pairs

    def varies(self, value: int, dims: Sequence[Dim]) -> tuple[bool, bool]:
        """Whether a value depends on the row, and on the column."""
        facts, shape = self.lifted.facts[value], self.lifted.values[value].shape
        atoms = self.space.of(
            d for d, r, n in zip(dims, facts.same, shape, strict=True) if not _reps.is_const(r, n)
        )
        return bool(atoms & self.rows), bool(atoms & self.columns)

    def multiplies(self, value: int, dims: Sequence[Dim], depth: int = 0) -> bool:
        """Whether a value is a factor of the row times one of the column."""
        return self._separates(value, dims, depth, sums=False)

    def adds(self, value: int, dims: Sequence[Dim], depth: int = 0) -> bool:
        """Whether a value is a term of the row plus one of the column."""
        return self._separates(value, dims, depth, sums=True)

    def _separates(self, value: int, dims: Sequence[Dim], depth: int, *, sums: bool) -> bool:
        key = value, tuple(dims), sums
        if key not in self.answers:
            self.answers[key] = (
                not all(self.varies(value, dims))
                or self._known(value, dims, "uniform")
                or self._made(value, dims, depth, sums=sums)
                or self._known(value, dims, "sum" if sums else "product")
            )
        return self.answers[key]

    def _made(self, value: int, dims: Sequence[Dim], depth: int, *, sums: bool) -> bool:
        """The same, from the call that makes the value."""
        maker = self.lifted.maker.get(value)
        if maker is None or depth > MAX_DEPTH:
            return False
        if isinstance(maker, Reshape):
            shape, source = (self.lifted.values[v].shape for v in (value, maker.value))
            moved = _prefix_dims.through_reshape(dims, shape, source, self.space)
            return moved is not None and self._separates(maker.value, moved, depth + 1, sums=sums)
        ranks = _prefix_dims.of_ranks(maker, dims)
        if ranks is None or _prefix_dims.sums(maker):
            return sums and ranks is not None and self._running(maker, value, dims)
        if self.call(value) in _MASKS:
            kept = self.kept(maker, ranks)
            read = None if kept is None else self.read(kept, maker, ranks)
            return (
                kept is not None
                and read is not None
                and self._separates(kept.value, read, depth + 1, sums=sums)
            )
        data = [o for o in maker.operands if o.within is None and o.outside is None]
        given = [self.read(o, maker, ranks) for o in data]
        if len(data) != len(maker.operands) or not data or any(g is None for g in given):
            return False
        operands = [(o.value, g) for o, g in zip(data, given, strict=True) if g is not None]
        return (self._term if sums else self._factor)(maker, (value, dims), operands, depth)

    def read(self, operand: Operand, maker: Map, ranks: Sequence[Dim]) -> list[Dim] | None:
        """Dimensions of an operand."""
        sizes = maker.ranks, self.lifted.values[operand.value].shape
        return _prefix_dims.through_axes(operand.axes, ranks, sizes, self.space)

    def _factor(self, maker: Map, out: Placed, operands: Sequence[Placed], depth: int) -> bool:
        """A call whose result is a product of both positions if its operands are something of the kind."""
        name = self.call(out[0])
        (value, dims), *others = operands
        if name in ("exp", "exp2"):
            return self.adds(value, dims, depth + 1)
        if name == "pow":
            return self._power(self.names[out[0]], operands, depth)
        scaled = maker.flavour == "product" or _is_product(maker)
        plain = maker.flavour == "moved" and maker.linear
        if not (plain or scaled or name in _POWERS) or (others and not scaled):
            return False
        return all(self.multiplies(v, d, depth + 1) for v, d in operands)

    def _power(self, name: str, operands: Sequence[Placed], depth: int) -> bool:
        """A base that is the same for all pairs to a power of two terms, or a product to one power."""
        if name == "pow.Scalar":
            return self.adds(*operands[0], depth + 1)
        if name == "pow.Tensor_Scalar":
            return self.multiplies(*operands[0], depth + 1)
        base, exponent = operands
        if not any(self.varies(*base)):
            return self.adds(*exponent, depth + 1)
        return not any(self.varies(*exponent)) and self.multiplies(*base, depth + 1)

    def _term(self, maker: Map, out: Placed, operands: Sequence[Placed], depth: int) -> bool:
        """A call whose result is a sum of both positions if its operands are something of the kind."""
        name = self.call(out[0])
        free = [not any(self.varies(v, d)) for v, d in operands]
        (value, dims), *others = operands
        if name == "log":
            return self.multiplies(value, dims, depth + 1)
        if name in ("abs", "clamp", "clamp_min", "relu"):
            same = not others and self._known(*out, "kept")
            return same and self.adds(value, dims, depth + 1)
        if maker.flavour == "product" and others:
            division = name in ("div", "divide", "true_divide")
            scales = free[1:] if division else sorted(free)[1:]
            return all(scales) and all(self.adds(v, d, depth + 1) for v, d in operands)
        if not maker.linear or maker.flavour not in ("moved", "product", "offset"):
            return False
        return all(self.adds(v, d, depth + 1) for v, d in operands)

    # ---- masks ----

    def kept(self, maker: Map, ranks: Sequence[Dim]) -> Operand | None:
        """The operand of a masking call that is taken at all pairs that matter."""
        found = [
            o
            for o in maker.operands
            if o.within is not None and self.inside(o.within, maker.ranks, ranks)
        ]
        return found[0] if len(found) == 1 else None

    def inside(self, box: Box, shape: Shape, dims: Sequence[Dim]) -> bool:
        """Whether all pairs that matter lie in a box."""
        if any(len(s) != n for s, n in zip(box.sets, shape, strict=True)):
            return False
        return all(self._covered(j.mask, [dims[d] for d in j.dims]) for j in box.joints)

    def _covered(self, mask: Mask | Bands, dims: Sequence[Dim]) -> bool:
        """Whether a mask over some dimensions holds at all pairs that matter."""
        atoms = [tuple(self.space.resolve(d.atoms)) for d in dims]
        if any(len(a) != 1 or not (d.placed or d.exact) for a, d in zip(atoms, dims, strict=True)):
            return False
        own = [a for (a,) in atoms]
        if self.pairs is None or len(set(own)) < len(own):
            return self.pairs is None and bool(mask.all())
        order = self.rows | self.columns
        if len(own) == 2 and {*own} == order and not self.places.batch:
            turned = own[0] in self.columns
            return _prefix_tables.contains(mask, self.pairs, turned=turned)
        needed = self.places.over(own)
        if needed is None:
            return False
        if isinstance(mask, Bands) or isinstance(needed, Bands):
            return mask.ndim == 2 and _prefix_tables.contains(mask, needed, turned=False)
        return bool((~needed | mask).all())

    def _running(self, maker: Map, value: int, dims: Sequence[Dim]) -> bool:
        """A running sum along one position that starts at the other: the difference of two running sums.

        Such is the sum of steps from j to i, written as a masked table that is summed along i.
        """
        if self.call(value) != "cumsum" or len(maker.operands) != 1:
            return False
        (operand,) = maker.operands
        line = len(maker.ranks) - 1
        (along,) = [
            d for d, a in enumerate(operand.axes) if isinstance(a, Along) and a.rank == line
        ]
        own = self.space.of([dims[along]])
        along_rows = own == self.rows
        if not (along_rows or own == self.columns) or not dims[along].placed:
            return False
        value, moved = self._behind_views(operand.value, list(dims))
        masking = self.lifted.maker.get(value)
        if not isinstance(masking, Map) or self.call(value) not in _MASKS:
            return False
        pin = self.lifted.facts[value].pin
        boxes = [(o, o.within) for o in masking.operands if o.within is not None]
        if pin is None or pin.value != 0 or len(boxes) != 1:
            return False
        ((source, box),) = boxes
        read = self.read(source, masking, moved)
        if read is None or self.varies(source.value, read)[along_rows]:
            return False
        return self._starts_in_time(box, masking, moved, along_rows=along_rows)

    def _behind_views(self, value: int, dims: list[Dim]) -> tuple[int, list[Dim]]:
        while isinstance(maker := self.lifted.maker.get(value), Map) and _facts.is_view(maker):
            ranks = _prefix_dims.of_ranks(maker, dims)
            read = None if ranks is None else self.read(maker.operands[0], maker, ranks)
            if read is None:
                break
            value, dims = maker.operands[0].value, read
        return value, dims

    def _starts_in_time(
        self, box: Box, maker: Map, dims: Sequence[Dim], *, along_rows: bool
    ) -> bool:
        """Whether terms run from some start to the end, and pairs that matter are not before the start."""
        if any(len(s) != n for s, n in zip(box.sets, maker.ranks, strict=True)):
            return False
        if len(box.joints) != 1 or len(box.joints[0].dims) != 2:
            return False
        places = [self.space.of([dims[d]]) for d in box.joints[0].dims]
        if {*places} != {self.rows, self.columns} or self.pairs is None:
            return False
        # one interval along the summed position for each of the other
        summed = self.rows if along_rows else self.columns
        lines = _prefix_tables.oriented(box.joints[0].mask, turned=places[0] == summed)
        pairs = _prefix_tables.oriented(self.pairs, turned=along_rows)
        if lines is None or pairs is None:
            return False
        some = lines.low < lines.high
        start = np.where(some, lines.low, lines.width)
        used = pairs.low < pairs.high
        to_the_end = bool((lines.high[some] == lines.width).all())
        return to_the_end and bool((pairs.low[used] >= start[used] - 1).all())

    # ---- numbers ----

    def _known(self, value: int, dims: Sequence[Dim], question: str) -> bool:
        """What the numbers of a known value say: kept in the graph, which may be written without them."""
        if not self._has_numbers(value) and question != "kept":
            return False
        places = [self.space.of([d]) for d in dims]
        if places.count(self.rows) != 1 or places.count(self.columns) != 1:
            return False
        row, column = places.index(self.rows), places.index(self.columns)
        if not (dims[row].placed and dims[column].placed):
            return False
        key = value, row, column, question, self._digest()
        if key not in self.lifted.separable:
            ask = {"uniform": self._uniform, "kept": self._is_kept}.get(question)
            found = self._table(value, dims, question) if ask is None else ask(value, dims)
            if not found:
                return False
            self.lifted.separable.add(key)
        return True

    def _has_numbers(self, value: int) -> bool:
        lifted = self.lifted
        if lifted.content(value) is not None or value in lifted.stated:
            return True
        return any(answer[0] == value for answer in lifted.separable)

    def _digest(self) -> int:
        """Tells the pairs that matter from those of another mask."""
        if self.pairs is not None and self._mark is None:
            mask = self.pairs
            parts = (mask.low, mask.high) if isinstance(mask, Bands) else (np.packbits(mask),)
            self._mark = zlib.crc32(b"".join(part.tobytes() for part in parts))
        return self._mark or 0

    def _uniform(self, value: int, dims: Sequence[Dim]) -> bool:
        """Whether a large mask has one value at all pairs that matter."""
        stated = self.lifted.stated.get(value)
        if not isinstance(stated, TwoValued) or stated.inside is None:
            return False
        return self.inside(stated.inside, self.lifted.values[value].shape, dims)

    def _is_kept(self, value: int, dims: Sequence[Dim]) -> bool:
        """Whether what is clamped at 0, or loses its sign, is not negative where it matters."""
        node, maker = self.lifted.producer.get(value), self.lifted.maker.get(value)
        if node is None or not isinstance(maker, Map):
            return False
        if node.args.get("min", 0) != 0 or node.args.get("max") is not None:
            return False
        signs = self._ends(maker.operands[0].value, dims)
        return signs is not None and signs[0] >= 0

    def _ends(self, value: int, dims: Sequence[Dim]) -> tuple[float, float] | None:
        """Least and greatest of a difference of positions, over the pairs that matter."""
        stated = self.lifted.stated.get(value)
        if isinstance(stated, Distance) and not stated.absolute and self.pairs is not None:
            places = [self.space.of([dims[d]]) for d in (stated.row, stated.column)]
            if {*places} != {self.rows, self.columns}:
                return None
            mask = _prefix_tables.oriented(self.pairs, turned=places[0] == self.columns)
            steps = np.diff(stated.columns)
            if mask is None or not (bool((steps >= 0).all()) or bool((steps <= 0).all())):
                return None
            used = mask.low < mask.high
            ends = [
                stated.rows[used] + stated.columns[edge[used]] for edge in (mask.low, mask.high - 1)
            ]
            lowest, highest = np.minimum(*ends), np.maximum(*ends)
            return (float(lowest.min()), float(highest.max())) if used.any() else None
        found = self._slices(value, dims)
        if found is None:
            return None
        table, matters = found
        chosen = table[:, matters]
        return (float(chosen.min()), float(chosen.max())) if chosen.size else None

    def _slices(self, value: int, dims: Sequence[Dim]) -> tuple[np.ndarray, Mask] | None:
        """Known numbers as (other, row, column), and the pairs that matter."""
        content = self.lifted.content(value)
        if content is None or content.shape != self.lifted.values[value].shape:
            return None
        if content.numel() > TABLE_ELEMENTS or content.is_complex():
            return None
        places = [self.space.of([d]) for d in dims]
        row, column = places.index(self.rows), places.index(self.columns)
        last = content.to(torch.float64).cpu().movedim((row, column), (-2, -1))
        table = last.reshape(-1, *last.shape[-2:]).numpy()
        if self.pairs is None:
            return table, np.ones(table.shape[1:], dtype=np.bool_)
        mask = self.pairs.dense() if isinstance(self.pairs, Bands) else self.pairs
        return (table, mask) if mask.shape == table.shape[1:] else None

    def _table(self, value: int, dims: Sequence[Dim], question: str) -> bool:
        """The same, from known numbers: neighbouring rows differ by one number (or by one factor)."""
        found = self._slices(value, dims)
        if found is None:
            return False
        table, mask = found
        dtype = self.lifted.values[value].dtype
        eps = torch.finfo(dtype).eps if dtype.is_floating_point else 0.0
        allowed = 4 * eps + ROUNDING
        return all(
            _prefix_tables.is_separate(each, mask, allowed, sums=question == "sum")
            for each in table
        )


def _is_product(maker: Map) -> bool:
    """Two operands multiplied position by position, also if it is called a contraction."""
    return maker.contracts and not _prefix_dims.sums(maker)
