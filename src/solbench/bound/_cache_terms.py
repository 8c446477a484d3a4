"""Traffic across a level of the memory hierarchy, in bytes, for all contractions of a demand."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from solbench.bound._result import Chain, Contraction, Demand
from solbench.bound.cache import (
    Curve,
    Window,
    chain_curve,
    convolution_curve,
    least_traffic,
    product_curve,
)

NARROWEST_BITS = 4
"""Of an element where the gate lets lower precision through: no tensor core takes narrower floats."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A contraction by itself, or a pair whose intermediate may stay on chip."""

    name: str
    curve: Curve
    """Of one of the ``times`` equal products."""
    times: int
    bits: int
    share: float
    """Of the multiply-adds of the whole product that are counted: the rest is masked."""

    def bytes_at(self, capacity_bytes: float, capacity_bits: int | None = None) -> float:
        """Bytes that cross the level; with less capacity than any schedule needs, those of the smallest.

        ``capacity_bits`` is the size of an element inside, if it is kept wider than it travels.
        """
        elements = capacity_bytes * 8 / (capacity_bits or self.bits)
        found = self.curve.at(elements)
        traffic = self.curve.traffic[0] if found is None else found
        again = (traffic - self.curve.least) * self.share
        return self.times * (self.curve.least + again) * self.bits / 8

    @property
    def least_bytes(self) -> float:
        """Bytes that cross where everything fits."""
        return self.times * self.curve.least * self.bits / 8


def pieces(demand: Demand) -> tuple[Piece, ...]:
    """The contractions in execution order, neighbours that can be fused as one piece."""
    chained = {chain.first: chain for chain in demand.chains}
    inside = {chain.second for chain in demand.chains}
    return tuple(
        _chained(chained[index], demand) if index in chained else _alone(each)
        for index, each in enumerate(demand.contractions)
        if index not in inside
    )


def _alone(each: Contraction) -> Piece:
    share = min(1.0, each.macs / max(1, _whole(each)))
    if not each.windows:
        curve = product_curve(each.rows, each.columns, each.inner)
        return Piece(each.node, curve, each.batch, each.bits, share)
    windows = tuple(Window(*w) for w in each.windows)
    images = max(1, each.rows // prod(w.out for w in windows))
    channels = max(1, each.inner // prod(w.taps for w in windows))
    # the taps in the padding are not work, but the tile that is moved is the same
    return Piece(
        each.node, convolution_curve(images, channels, each.columns, windows), each.batch, each.bits, 1.0
    )  # fmt: skip


def _chained(chain: Chain, demand: Demand) -> Piece:
    first, second = demand.contractions[chain.first], demand.contractions[chain.second]
    share = (first.macs + second.macs) / max(1, _whole(first) + _whole(second))
    curve = chain_curve(chain.rows, chain.inner, chain.middle, chain.columns, softmax=chain.softmax)
    name = f"{first.node} → {second.node}" if first.node != second.node else first.node
    return Piece(name, curve, chain.batch, min(first.bits, second.bits), min(1.0, share))


def _whole(each: Contraction) -> int:
    return each.batch * each.rows * each.columns * each.inner


@dataclass(frozen=True, slots=True)
class Floor:
    """A lower bound on the bytes across a level, from one contraction."""

    node: str
    bytes: float
    capacity_elements: int
    macs: int


def traffic_floor(demand: Demand, capacity_bytes: int) -> Floor | None:
    """The largest bound that any single isolated product gives; ``None`` if there is none.

    Only products of two inputs into an output count: what a kernel can compute on the way, or need not write,
    has no such bound.
    """
    best: Floor | None = None
    for each in demand.contractions:
        if not each.isolated or each.windows:
            continue
        bits = min(each.bits, NARROWEST_BITS) if demand.precision == "admitted" else each.bits
        capacity = max(1, capacity_bytes * 8 // bits)
        moved = least_traffic(each.macs, capacity) * bits / 8
        if best is None or moved > best.bytes:
            best = Floor(each.node, moved, capacity, each.macs)
    return best
