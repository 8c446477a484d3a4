"""The rule contract: one function per op family, from a captured call to lifted nodes.

    @rule("aten.mm.default")
    def matrix_product(call: Call) -> Iterable[Lifted]:
        yield call.einsum("ik,kj->ij", "self", "mat2")

A rule reads shapes, constants and known contents from ``call`` and yields ``Map`` and ``Reshape`` nodes that
produce ``call.outputs``; ``call.temporary`` makes a value between two of them. That is all: regions, traffic,
precision and pricing follow from the access maps. An op without a rule makes the bound incomplete.
To add one, add a file to this package (files are found by themselves).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from solbench.bound import _access, _pins, _region
from solbench.bound._access import Along, Axes, Fixed, Whole
from solbench.bound._lifted import Flavour, Lifted, Map, Operand, PinRule, Reshape
from solbench.bound._region import Box, Shape
from solbench.bound._stated import Stated, TwoValued, complement
from solbench.bound.graph import Node, Ref, Value

Rule = Callable[["Call"], Iterable[Lifted]]
RULES: dict[str, Rule] = {}


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Register a rule for qualified overloads (``aten.mm.default``) or whole ops (``aten.mm``)."""

    def register(function: Rule) -> Rule:
        for op in ops:
            assert op not in RULES, f"two rules for {op}"
            RULES[op] = function
        return function

    return register


def find(op: str) -> Rule | None:
    """Rule of an op: exact overload, whole op, then the functional twin of an in-place op."""
    for name in (op, op.rsplit(".", 1)[0]):
        if name in RULES:
            return RULES[name]
    namespace, name, *overload = op.split(".")
    if name.endswith("_") and not name.endswith("__"):
        return find(".".join([namespace, name[:-1], *overload]))
    return None


class MissingRule(Exception):
    """Raised by a rule for arguments that it does not cover; the op is then listed as unknown."""


@dataclass(slots=True)
class Call:
    """One captured call, as a rule sees it."""

    node: Node
    values: dict[int, Value]
    """All values; temporaries are added."""
    contents: Callable[[int], torch.Tensor | None]
    """Known contents of a value."""
    structure: Callable[[int], torch.Tensor | None]
    """Known contents, unless they are data (a random mask, quantised weights)."""
    resolve: Callable[[int], int]
    """Value id → the id that stands for it (identical values are one)."""
    maker: dict[int, Map | Reshape]
    """Value id → the lifted node that made it."""
    shared: dict[object, object]
    """What a rule keeps for later calls: attention's scores, needed again by its backward."""
    hides: Callable[[int, Node], bool]
    """Whether a value is a mask that is too large to keep."""
    stated: Callable[[int], Stated | None]
    """A value that is too large to keep, in two values and a box."""

    @property
    def args(self) -> dict[str, Any]:
        return self.node.args

    @property
    def outputs(self) -> tuple[int, ...]:
        return self.node.outputs

    def id(self, argument: str | Ref) -> int:
        """Value id of a tensor argument."""
        found = self.args[argument] if isinstance(argument, str) else argument
        if not isinstance(found, Ref):
            raise MissingRule(f"{self.node.op}: {argument} is not a tensor")
        return self.resolve(found.id)

    def has(self, argument: str) -> bool:
        """Whether a tensor is given for this argument."""
        return isinstance(self.args.get(argument), Ref)

    def first(self, *names: str) -> str:
        """The first of these argument names that this overload has."""
        return next(n for n in names if n in self.args)

    def value(self, argument: str | Ref | int) -> Value:
        return self.values[argument if isinstance(argument, int) else self.id(argument)]

    def shape(self, argument: str | Ref | int = "self") -> Shape:
        """Shape of an argument; of output ``n`` for a number."""
        if isinstance(argument, int):
            return self.values[self.outputs[argument]].shape
        return self.value(argument).shape

    def dim(self, argument: str = "dim", *, rank: int | None = None) -> int:
        """A dimension argument, counted from the left."""
        count = len(self.shape("self")) if rank is None else rank
        return int(self.args[argument]) % max(count, 1)

    def dims(self, argument: str = "dim", of: str = "self") -> tuple[int, ...]:
        """A list of dimensions, counted from the left; all of them if empty or none."""
        count = len(self.shape(of))
        given = self.args.get(argument)
        if given is None or (isinstance(given, tuple | list) and not given):
            return tuple(range(count))
        if isinstance(given, int):
            given = (given,)
        return tuple(sorted(d % max(count, 1) for d in given))

    def known(self, argument: str | Ref) -> torch.Tensor | None:
        """Contents of a tensor argument, if known."""
        return self.contents(self.id(argument))

    def mask(self, argument: str | Ref) -> torch.Tensor | None:
        """Contents of a mask, if they are known and have structure."""
        return self.structure(self.id(argument))

    def where(self, argument: str | Ref, holds: Callable[[float], bool]) -> Box | str | None:
        """Where a mask too large to keep has a value for which ``holds``; ``"unknown"`` if that is no box."""
        stated, shape = self.stated(self.id(argument)), self.shape(argument)
        if not isinstance(stated, TwoValued):
            return "unknown"
        true, false = holds(stated.true), holds(stated.false)
        if true == false:
            return _region.full_box(shape) if true else None
        return stated.inside if true else complement(stated.inside, shape)

    def hidden(self, argument: str | Ref) -> bool:
        """Whether a mask follows from constants and known inputs but is too large to keep.

        It may remove everything, so a bound that must never be too large counts nothing under it.
        """
        return self.hides(self.id(argument), self.node)

    def number(self, argument: str) -> float | None:
        """A scalar argument, or a known one-element tensor; ``None`` if not known."""
        given = self.args.get(argument)
        if isinstance(given, Ref):
            content = self.known(given)
            return float(content.item()) if content is not None and content.numel() == 1 else None
        return None if given is None else float(given)

    def temporary(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        """A new value between two lifted nodes of this call."""
        number = -2 - len(self.values)  # apart from graph.ABSENT
        self.values[number] = Value(number, tuple(shape), dtype, (), number)
        return number

    def tensors(self) -> Iterator[str | Ref]:
        """Every tensor argument, lists included."""
        overwritten = ("out",) if self.node.op.endswith("out") else ()
        for name, argument in self.args.items():
            if name in overwritten:
                continue
            if isinstance(argument, Ref):
                yield name
            elif isinstance(argument, tuple | list):
                yield from (a for a in argument if isinstance(a, Ref))

    def operand(self, argument: str | Ref | int, axes: Axes, **limits: Box | None) -> Operand:
        return Operand(argument if isinstance(argument, int) else self.id(argument), axes, **limits)

    def pointwise(
        self,
        *arguments: str | Ref | int,
        out: int | None = None,
        flavour: Flavour = "computed",
        linear: bool = False,
        pin: PinRule | None = None,
        ops: int = 1,
    ) -> Map:
        """Broadcast elementwise map of the given operands (all tensor arguments by default)."""
        target = self.outputs[0] if out is None else out
        ranks = self.values[target].shape
        given = arguments or tuple(self.tensors())
        operands = tuple(
            self.operand(a, _access.broadcast(self._shape_of(a), ranks)) for a in given
        )
        return Map(
            (target,), (_access.identity(len(ranks)),), ranks, operands,
            flavour=flavour, linear=linear, pin=pin, ops=ops,
        )  # fmt: skip

    def _shape_of(self, argument: str | Ref | int) -> Shape:
        return self.value(argument).shape

    def moved(
        self,
        ranks: Shape,
        axes: Axes,
        argument: str | Ref | int = "self",
        *,
        out: int | None = None,
        within: Box | None = None,
        linear: bool = True,
    ) -> Map:
        """Elements of one tensor, moved: output position ``r`` reads ``axes(r)``."""
        target = self.outputs[0] if out is None else out
        operand = self.operand(argument, axes, within=within)
        return Map(
            (target,), (_access.identity(len(ranks)),), ranks, (operand,),
            linear=linear, pin=_pins.keep, ops=0,
        )  # fmt: skip

    def reduce(
        self,
        dims: Sequence[int],
        argument: str | Ref | int = "self",
        *,
        outs: Sequence[int] | None = None,
        linear: bool = False,
        flavour: Flavour = "computed",
        pin: PinRule | None = None,
        ops: int = 1,
    ) -> Map:
        """Reduction over ``dims``; the outputs' shapes say whether the dimensions are kept."""
        ranks = self._shape_of(argument)
        targets = tuple(self.outputs[:1] if outs is None else outs)
        kept = [r for r in range(len(ranks)) if r not in dims]
        out_axes = []
        for target in targets:
            full = len(self.values[target].shape) == len(ranks)
            out_axes.append(
                tuple(
                    Along(r) if r in kept else Fixed()
                    for r in (range(len(ranks)) if full else kept)
                )
            )
        operand = self.operand(argument, _access.identity(len(ranks)))
        return Map(
            targets, tuple(out_axes), ranks, (operand,),
            flavour=flavour, linear=linear, pin=pin, ops=ops,
        )  # fmt: skip

    def lines(
        self,
        dims: Sequence[int],
        *others: str | Ref | int,
        argument: str | Ref | int = "self",
        out: int | None = None,
        flavour: Flavour = "computed",
        linear: bool = False,
        pin: PinRule | None = None,
        ops: int = 1,
    ) -> Map:
        """Output shaped as the argument, each position depending on the whole line along ``dims``.

        ``others`` are broadcast operands.
        """
        target = self.outputs[0] if out is None else out
        plain = self.pointwise(
            argument, *others, out=target, flavour=flavour, linear=linear, pin=pin, ops=ops
        )
        return Map(
            plain.outs, plain.out_axes, plain.ranks, plain.operands, flavour=flavour,
            coupled=frozenset(dims), linear=linear, pin=pin, ops=ops,
        )  # fmt: skip

    def einsum(
        self,
        equation: str,
        left: str | Ref | int,
        right: str | Ref | int,
        *,
        out: int | None = None,
    ) -> Map:
        """Contraction of two operands; every letter is a rank (broadcast where a size is 1)."""
        target = self.outputs[0] if out is None else out
        terms, result = equation.split("->")
        first, second = terms.split(",")
        letters = list(result) + [c for c in dict.fromkeys(first + second) if c not in result]
        sizes = dict.fromkeys(letters, 1)
        for term, argument in ((first, left), (second, right)):
            for letter, size in zip(term, self._shape_of(argument), strict=True):
                sizes[letter] = max(sizes[letter], size) if size else 0
        ranks = tuple(sizes[c] for c in letters)
        operands = tuple(
            self.operand(
                argument,
                tuple(
                    Fixed() if n == 1 and sizes[c] != 1 else Along(letters.index(c))
                    for c, n in zip(term, self._shape_of(argument), strict=True)
                ),
            )
            for term, argument in ((first, left), (second, right))
        )
        return Map(
            (target,), (tuple(Along(letters.index(c)) for c in result),), ranks, operands,
            flavour="computed", contracts=True, linear=True, pin=_pins.product, ops=0,
        )  # fmt: skip

    def everything(self, *, ops: int = 1, outs: Sequence[int] | None = None) -> Map:
        """Every output element needs every element of every operand, and differs from its neighbours."""
        targets = tuple(self.node.results() if outs is None else outs)
        shapes = [self.values[t].shape for t in targets]
        ranks: list[int] = []
        out_axes: list[Axes] = []
        for shape in shapes:
            if 0 in shape:  # an output that was not asked for must not make the space empty
                out_axes.append(tuple(Fixed() for _ in shape))
                continue
            out_axes.append(tuple(Along(len(ranks) + i) for i in range(len(shape))))
            ranks.extend(shape)
        operands = tuple(
            self.operand(a, tuple(Whole() for _ in self._shape_of(a))) for a in self.tensors()
        )
        ops = ops if len(targets) == 1 else 0
        return Map(
            targets, tuple(out_axes), tuple(ranks), operands, flavour="computed", ops=ops,
            coupled=frozenset(range(len(ranks))),
        )  # fmt: skip

    def created(self, *, out: int | None = None) -> Map:
        """A value made from nothing."""
        target = self.outputs[0] if out is None else out
        ranks = self.values[target].shape
        return Map((target,), (_access.identity(len(ranks)),), ranks, (), ops=0)

    def reshaped(self, argument: str | Ref | int = "self", *, out: int | None = None) -> Reshape:
        target = self.outputs[0] if out is None else out
        return Reshape(target, argument if isinstance(argument, int) else self.id(argument))


def whole(shape: Shape) -> Box:
    """The box of all positions."""
    return _region.full_box(shape)
