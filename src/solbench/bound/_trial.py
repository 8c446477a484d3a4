"""One call on a small instance, lifted anew and compared with what the call gives."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from solbench.bound._access import Taps
from solbench.bound._instances import Instance
from solbench.bound._interpret import contract, gather, reach
from solbench.bound._lift import LiftedGraph, Step
from solbench.bound._lifted import Map, Reshape
from solbench.bound._region import Shape

WRONG = "wrong: "
"""Starts a verdict that contradicts the rule; others say why nothing was found out."""
CHANGES = (1.75, -1.75, 100.0)
"""By how much an element is changed."""
_TOLERANCE = 1e-8
"""Double precision: a contraction of a few hundred products."""
_NARROW_TOLERANCE = 0.05


class Trial:
    """One instance, lifted anew and compared with what the call gives."""

    def __init__(self, instance: Instance, lifted: LiftedGraph) -> None:
        self._instance = instance
        self._lifted = lifted
        self._shapes: dict[int, Shape] = {i: v.shape for i, v in lifted.values.items()}
        self._outputs = [lifted.resolve(value) for _, value in instance.graph.outputs]
        self._tolerance = _TOLERANCE if instance.widened else _NARROW_TOLERANCE

    def problem(self) -> str:
        """Empty, or what is wrong."""
        for step in self._lifted.steps:
            found = self._misshapen(step)
            if found:
                return WRONG + found
        return self._wrong_numbers() or self._wrong_reach()

    def _misshapen(self, step: Step) -> str:
        item = step.lifted
        if isinstance(item, Reshape):
            same = torch.Size(self._shapes[item.value]).numel() == (
                torch.Size(self._shapes[item.out]).numel()
            )
            return "" if same else "a change of shape changes the number of elements"
        for out, axes in zip(item.outs, item.out_axes, strict=True):
            if len(axes) != len(self._shapes[out]):
                return "an output has another number of dimensions than its access map"
        for operand in item.operands:
            if len(operand.axes) != len(self._shapes[operand.value]):
                return "an operand has another number of dimensions than its access map"
        return ""

    # -- which outputs an element reaches --

    def _wrong_reach(self) -> str:
        idle = ""
        certain = self._certain()
        telling = all(
            map(_perturbable, (*self._instance.outputs, *self._instance.contents.values()))
        )
        for leaf, content in self._instance.contents.items():
            if not _perturbable(content) or leaf in self._instance.graph.known:
                continue
            moved = claimed = False
            for place in _places(content):
                declared = self._declared(leaf, place)
                changed = self._changed(leaf, place, declared)
                for mark, real in zip(declared, changed, strict=True):
                    if bool((real & ~mark).any()):
                        return WRONG + "outputs change with an element that they do not read"
                    if certain and bool((mark & ~real).any()):
                        return WRONG + "outputs read an element that does not change them"
                    claimed, moved = claimed or bool(mark.any()), moved or bool(real.any())
            if claimed and not moved and telling and not self._constant():
                idle = "an element that is read changes nothing here"
        return idle

    def _constant(self) -> bool:
        """Whether the result is the same everywhere, as that of a softmax over one element."""
        return all(bool((t == t.reshape(-1)[:1]).all()) for t in self._instance.outputs)

    def _certain(self) -> bool:
        """Whether every element that is read must make a difference: linear maps, and no factor of zero."""
        leaves = self._instance.contents
        if any(
            not _perturbable(t) or leaf in self._instance.graph.known for leaf, t in leaves.items()
        ):
            return False
        return all(
            isinstance(s.lifted, Reshape)
            or (s.lifted.linear and not s.lifted.coupled and not _padded(s.lifted))
            for s in self._lifted.steps
        )

    def _declared(self, leaf: int, place: tuple[int, ...]) -> list[torch.Tensor]:
        mark = torch.zeros(self._shapes[leaf], dtype=torch.bool)
        mark[place] = True
        marks = {self._lifted.resolve(leaf): mark}
        for step in self._lifted.steps:
            item = step.lifted
            if isinstance(item, Reshape):
                if item.value in marks:
                    marks[item.out] = marks[item.value].reshape(self._shapes[item.out])
            else:
                marks.update(reach(item, marks, self._shapes))
        return [
            marks.get(out, torch.zeros(self._shapes[out], dtype=torch.bool))
            for out in self._outputs
        ]

    def _changed(
        self, leaf: int, place: tuple[int, ...], declared: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Output elements that another value there changes; a second one if the first misses some."""
        content = self._instance.contents[leaf]
        result = [torch.zeros(t.shape, dtype=torch.bool) for t in self._instance.outputs]
        for amount in CHANGES:
            other = content.clone()
            other[place] = (_doubled(content[place]) + amount).to(content.dtype)
            new = self._instance.run({**self._instance.contents, leaf: other})
            for mark, before, after in zip(result, self._instance.outputs, new, strict=True):
                mark |= _differs(before, after, self._tolerance)
            if all(bool((a == b).all()) for a, b in zip(result, declared, strict=True)):
                break
        return result

    # -- contractions by their numbers --

    def _wrong_numbers(self) -> str:
        steps = [s.lifted for s in self._lifted.steps]
        if not any(isinstance(item, Map) and item.contracts for item in steps):
            return ""
        real = {
            i: _doubled(t)
            for i, t in self._instance.everything().items()
            if i in self._shapes and tuple(t.shape) == self._shapes[i]
        }
        held = dict(real)
        for item in steps:
            if isinstance(item, Reshape):
                if item.value in held:
                    held.setdefault(item.out, held[item.value].reshape(self._shapes[item.out]))
                continue
            interpret = contract if item.contracts else _moved
            found = interpret(item, held, self._shapes)
            if found is None:
                continue
            out = item.outs[0]
            if out not in real:
                held[out] = found
            elif item.contracts and not self._proportional(found, real[out]):
                return WRONG + "the contraction gives other numbers"
        return self._wrong_sums(steps, held, real)

    def _wrong_sums(
        self,
        steps: list[Map | Reshape],
        held: Mapping[int, torch.Tensor],
        real: Mapping[int, torch.Tensor],
    ) -> str:
        """A result that is a contraction plus something: some multiple of each makes it up."""
        for item in steps:
            if isinstance(item, Reshape) or item.contracts or not item.linear or item.coupled:
                continue
            out = item.outs[0]
            own = [o.value for o in item.operands]
            if item.flavour == "product" or out not in real or all(v in real for v in own):
                continue
            if not all(v in held for v in own) or item.out_axes[0] != item.operands[0].axes:
                continue
            parts = [
                gather(held[o.value], o.axes, item.ranks).expand(item.ranks) for o in item.operands
            ]
            columns = torch.stack([p.reshape(-1) for p in parts], dim=1)
            target = real[out].reshape(-1, 1)
            factors = torch.linalg.lstsq(columns, target, driver="gelsd").solution
            if not self._close(columns @ factors, target):
                return WRONG + "the sum of its terms gives other numbers"
        return ""

    def _proportional(self, found: torch.Tensor, expected: torch.Tensor) -> bool:
        """Equal up to a constant factor, which a mean or a scalar leaves."""
        weight = (found.conj() * found).sum()
        if float(weight.abs()) == 0:
            return bool(expected.abs().max() < self._tolerance) if expected.numel() else True
        return self._close(found * ((found.conj() * expected).sum() / weight), expected)

    def _close(self, found: torch.Tensor, expected: torch.Tensor) -> bool:
        if expected.numel() == 0:
            return True
        scale = float(expected.abs().max())
        return float((found - expected).abs().max()) <= self._tolerance * max(scale, 1e-30)


def _padded(item: Map) -> bool:
    """Whether a window reaches beyond its tensor."""
    return any(
        isinstance(axis, Taps) and bool((axis.table < 0).any())
        for operand in item.operands
        for axis in operand.axes
    )


def _perturbable(content: torch.Tensor) -> bool:
    return content.numel() > 0 and (content.is_floating_point() or content.is_complex())


def _places(content: torch.Tensor) -> list[tuple[int, ...]]:
    """A few elements: the first, one within, the last."""
    last = content.numel() - 1
    places = []
    for index in sorted({0, last * 2 // 5, last}):
        place: list[int] = []
        for size in reversed(content.shape):
            index, position = divmod(index, size)
            place.append(position)
        places.append(tuple(reversed(place)))
    return places


def _differs(before: torch.Tensor, after: torch.Tensor, tolerance: float) -> torch.Tensor:
    different = before != after
    if not (before.is_floating_point() or before.is_complex()) or not bool(different.any()):
        return different
    left, right = _doubled(before), _doubled(after)
    near = (left - right).abs() <= tolerance * 1e-2 * (1 + left.abs())
    return different & ~near & ~(left.isnan() & right.isnan())


def _doubled(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128) if tensor.is_complex() else tensor.double()


def _moved(
    item: Map, held: Mapping[int, torch.Tensor], shapes: Mapping[int, Shape]
) -> torch.Tensor | None:
    """A tensor whose elements are only moved."""
    if len(item.operands) != 1 or item.flavour != "moved" or item.ops or item.coupled:
        return None
    operand = item.operands[0]
    plain = operand.within is None and operand.outside is None
    if not plain or operand.value not in held or len(item.out_axes[0]) != len(item.ranks):
        return None
    return (
        gather(held[operand.value], operand.axes, item.ranks)
        .expand(item.ranks)
        .reshape(shapes[item.outs[0]])
    )
