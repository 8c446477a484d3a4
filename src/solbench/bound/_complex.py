"""Products of complex numbers, in real ones."""

from __future__ import annotations

from dataclasses import replace

from solbench.bound import _facts
from solbench.bound._contraction import Work
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Reshape
from solbench.bound._region import Region


def in_real_products(work: Work, item: Map, lifted: LiftedGraph, need: dict[int, Region]) -> Work:
    """The work of a contraction with the real multiply-adds that each of its products takes.

    Two complex numbers take three (with more additions, as libraries offer it), one of which only the real or
    only the imaginary part is used two; a complex and a real number take two, or one.
    """
    if not lifted.values[item.outs[0]].dtype.is_complex:
        return work
    complex_factors = sum(not _is_real(o.value, lifted) for o in item.operands[:2])
    products = 1 + complex_factors
    return replace(work, real_products=max(1, products - _takes_one_part(item, lifted, need)))


def _is_real(value: int, lifted: LiftedGraph) -> bool:
    """Whether a value is a real one that was cast."""
    while lifted.values[value].dtype.is_complex:
        maker = lifted.maker.get(value)
        if isinstance(maker, Reshape):
            value = maker.value
        elif maker is not None and len(maker.operands) == 1 and _keeps_values(maker):
            value = maker.operands[0].value
        else:
            return False
    return True


def _keeps_values(maker: Map) -> bool:
    return _facts.is_view(maker) or (maker.flavour == "moved" and maker.linear)


def _takes_one_part(item: Map, lifted: LiftedGraph, need: dict[int, Region]) -> bool:
    """Whether some reader uses the real or the imaginary part alone."""
    out = item.outs[0]
    for step in lifted.steps:
        reader = step.lifted
        if not isinstance(reader, Map) or all(o.value != out for o in reader.operands):
            continue
        name = step.node.op.split(".")[1]
        region = need.get(reader.outs[0])
        if name in ("real", "imag") or (name == "view_as_real" and region and not region.is_full):
            return True
    return False
