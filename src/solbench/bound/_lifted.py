"""The lifted graph: what a rule turns an ATen call into.

There are two forms. A ``Map`` is an extended einsum: outputs and operands over one iteration space, each
operand with an access map. A ``Reshape`` regroups dimensions. Everything the analysis knows about an
operation is in these; a rule for a composite operation returns several, joined by temporary values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from solbench.bound._access import Along, Axes, Fixed, Table, Taps
from solbench.bound._region import Box, Region, Shape
from solbench.bound._reps import Rep
from solbench.bound._sets import Indices
from solbench.bound._spans import Span, SpanRule


@dataclass(frozen=True, slots=True, eq=False)
class Pin:
    """The value is known to equal ``value`` everywhere outside ``free`` (``None``: everywhere)."""

    value: float
    free: Box | None


PinRule = Callable[[Sequence[Pin | None]], Pin | None]
"""Pins of the operands in the iteration space → pin of the result there."""


@dataclass(frozen=True, slots=True)
class Few:
    """Over some dimensions together, for every position along the others, so many elements are not zero."""

    dims: frozenset[int]
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What the forward pass knows of a value."""

    precision: str
    same: tuple[Rep, ...]
    """Per dimension, which slices are equal."""
    pin: Pin | None = None
    scaled: tuple[str, tuple[Rep, ...]] | None = None
    """A value of this narrower class times a factor, with the factor's equal slices per dimension."""
    base: int | None = None
    """Input, or part of one, of which this value is an updated version."""
    changed: Region | None = None
    """Where it may differ from ``base``."""
    span: Span | None = None
    """Which numbers it can hold; ``None`` if only the dtype says."""
    few: tuple[Few, ...] = ()
    """Dimensions along which few elements are not zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """One tensor that a map reads."""

    value: int
    axes: Axes
    within: Box | None = None
    """Part of the iteration space that reads it; ``None``: all."""
    outside: Box | None = None
    """Part of the iteration space that does not."""


@dataclass(frozen=True, slots=True, eq=False)
class SummedByIndex:
    """Slice ``i`` of an operand along one dimension is added to slice ``table[i]`` of the result."""

    operand: int
    dim: int
    table: Indices


Flavour = Literal["computed", "moved", "picked", "product", "offset"]
"""How precision travels: a new rounding; values moved unchanged; values of operand 0 picked by the others; a
product, whose scale stays apart; a sum with an offset, exact on small integers."""


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """Outputs over named ranks, computed from operands over the same ranks.

    Ranks that no output has are reduced.
    """

    outs: tuple[int, ...]
    out_axes: tuple[Axes, ...]
    ranks: Shape
    operands: tuple[Operand, ...]
    flavour: Flavour = "moved"
    contracts: bool = False
    """Operands 0 and 1 are multiplied and summed over the reduced ranks: matrix work."""
    coupled: frozenset[int] = frozenset()
    """Ranks along which one output position needs all positions (softmax, cumulative sum, sort)."""
    linear: bool = False
    """Linear in every operand on its own: sums may be moved through it."""
    pin: PinRule | None = None
    gate: int | None = None
    """Operand whose zeros make the others unneeded at the same point of the iteration space."""
    ops: int = 1
    """Vector operations per point of the iteration space (an estimate)."""
    updates: Box | None = None
    """Operand 0 is overwritten inside this box and unchanged elsewhere."""
    span: SpanRule | None = None
    """Which numbers the results can be; values that are moved keep theirs."""
    few: tuple[Few, ...] = ()
    """Dimensions of the result along which few elements are not zero."""
    summed: SummedByIndex | None = None
    """Slices of an operand are added to those of operand 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Reshape:
    """The same elements in the same order, under another shape."""

    out: int
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Alias:
    """The very same value under another name (a copy, a detach)."""

    out: int
    value: int


Lifted = Map | Reshape | Alias


def einsum(node: Map) -> str:
    """The map as an extended einsum, such as ``ij,kj->ik``; windows as ``(y*s+p)``."""
    terms = [_term(o.axes) for o in node.operands]
    return ",".join(terms) + "->" + ",".join(_term(a) for a in node.out_axes)


def _letter(rank: int) -> str:
    return "ijklmnopqrstuvwxyzabcdefgh"[rank % 26]


def _term(axes: Axes) -> str:
    parts = []
    for axis in axes:
        if isinstance(axis, Along):
            parts.append(_letter(axis.rank) if axis.identity else _affine(axis))
        elif isinstance(axis, Table):
            parts.append(f"[{_letter(axis.rank)}]")
        elif isinstance(axis, Taps):
            parts.append(f"({_letter(axis.rank)}+{_letter(axis.tap)})")
        elif isinstance(axis, Fixed):
            parts.append(str(axis.index))
        else:
            parts.append(":")
    return "".join(parts)


def _affine(axis: Along) -> str:
    factor = "" if axis.step == 1 else f"{axis.step}*"
    return (
        f"({factor}{_letter(axis.rank)}{axis.start:+d})"
        if axis.start
        else f"({factor}{_letter(axis.rank)})"
    )
