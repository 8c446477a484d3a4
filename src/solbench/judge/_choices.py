"""What a program chooses on the way, and what it might as well have chosen.

A program may choose between sums (the largest scores, the nearest code of a coarse format). Another order of
summation, another way to divide, moves them by a few units in the last place: where they all but tie, it
chooses otherwise and is as right. So the steps before a choice are pushed by that much, to see how far the
values that it is made from move. These are then pushed apart, in patterns in which any two are; choices that
turn take the place of the program's own. It runs with nothing pushed then: what it gives is exact for them.

Two kinds are told apart, since they have other consequences. A *selection* (top-k, sort, argmax) sends whole
rows another way. A *rounding* to eight or four bits moves one factor of long sums by one step.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from solbench.judge._pushes import PRODUCTS, STEPS, Push, pushes
from solbench.judge._sites import Enough, Kind, Site, Sites, share_turned

Outputs = dict[str, torch.Tensor]
Run = Callable[[TorchDispatchMode], Outputs]
"""Runs the program on its inputs under a mode."""
Choose = Callable[[Site, int], torch.Tensor]

_AT_LEAST = 8 * 2.0**-23
"""Of a value that was computed: pushes on the way may cancel each other."""

_LESS_THAN_ANY_ULP = 2.0**-40
_LEAST = 2.0**-200
"""In float64, these part equal values and no others; the second is for zeros."""

_MEASURING = (Push(0, 1.0), Push(1, 1.0))
"""Patterns that tell how far values move. Not all alike: a softmax would not move at all."""

_ROUNDING = (Push(None, 1.0), Push(None, -1.0), Push(0, 1.0), Push(0, -1.0))
"""A scale that is rounded another way moves a whole row alike."""

_MOST_ROUNDED = 1 / 8
"""Of values, that may lie all but halfway. In bfloat16, divided by the largest of their row, one in sixteen
does in the worst case."""


class Choices:
    """The choices of one program on one set of inputs. Making it runs the program once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        record = Sites()
        self.outputs: Outputs = run(record)
        """With its own choices."""
        self._met = record.met

    @property
    def selects(self) -> bool:
        return bool(self._met["selection"])

    @property
    def rounds(self) -> bool:
        return bool(self._met["rounding"])

    def other_selections(self, seconds: float) -> Iterator[Outputs]:
        """What it gives where selections turn that all but tie; nothing where none do. Nothing is begun after
        so many seconds."""
        width = max((site.line for site in self._met["selection"]), default=1)
        for turned in self._turned("selection", pushes(width), seconds):
            yield self._run(Sites(_instead(selection=turned)))

    def other_roundings(self, seconds: float) -> Iterator[Outputs]:
        """The same where values lie all but halfway between two codes; its selections stay."""
        for turned in self._turned("rounding", _ROUNDING, seconds):
            if share_turned(self._met["rounding"], turned) <= _MOST_ROUNDED:
                yield self._run(Sites(_instead(selection=self._own("selection"), rounding=turned)))

    def _own(self, kind: Kind) -> list[torch.Tensor]:
        return [site.own for site in self._met[kind]]

    def _turned(
        self, kind: Kind, patterns: Iterable[Push], seconds: float
    ) -> Iterator[list[torch.Tensor]]:
        """The choices of a kind under each pattern that turns any."""
        sites, end = self._met[kind], time.perf_counter() + seconds
        spreads = self._spreads(kind) if sites else []
        for push in itertools.takewhile(lambda _: time.perf_counter() < end, patterns):
            turned = self._under(push, kind, spreads)
            if share_turned(sites, turned):
                yield turned

    def _spreads(self, kind: Kind) -> list[torch.Tensor]:
        """How far each value moves that a choice of this kind is made from; 0 where nothing was computed."""
        sites = self._met[kind]
        spreads = [torch.zeros_like(site.source, dtype=torch.float32) for site in sites]
        for operations in (PRODUCTS, STEPS):
            moved = [torch.zeros_like(spread) for spread in spreads]
            for push in _MEASURING:
                own = _instead(selection=self._own("selection"), rounding=self._own("rounding"))
                watch = self._until_last(kind, Sites(own, (kind, len(sites)), push, operations))
                for number, (site, other) in enumerate(zip(sites, watch.met[kind], strict=False)):
                    moved[number] = moved[number].maximum(_difference(site, other))
            spreads = [spread + more for spread, more in zip(spreads, moved, strict=True)]
        return [
            spread + _AT_LEAST * _size(site) if bool(spread.any()) else spread
            for site, spread in zip(sites, spreads, strict=True)
        ]

    def _under(self, push: Push, kind: Kind, spreads: list[torch.Tensor]) -> list[torch.Tensor]:
        """The choices of a kind, each from values pushed apart; later ones follow from earlier ones."""
        if not spreads:
            return []
        sites = self._met[kind]
        if len(sites) == 1:
            return [_apart(sites[0], push, spreads[0])]

        def choose(site: Site, number: int) -> torch.Tensor:
            if site.kind != kind:
                # A selection that turns leaves later roundings other values, and the other way round.
                mine = self._met[site.kind]
                return mine[number].own if kind == "rounding" and number < len(mine) else site.own
            if number >= len(spreads) or spreads[number].shape != site.source.shape:
                return site.own
            return _apart(site, push, spreads[number])

        return self._until_last(kind, Sites(choose, (kind, len(sites)))).chosen[kind]

    def _until_last(self, kind: Kind, watch: Sites) -> Sites:
        """Run up to the last choice of a kind, which is all that is asked."""
        with contextlib.suppress(Enough):
            self._run(watch)
        return watch


def _instead(**chosen: list[torch.Tensor]) -> Choose:
    """Choices by number, of one kind or both, in place of a run's own."""

    def choose(site: Site, number: int) -> torch.Tensor:
        others = chosen.get(site.kind, [])
        return others[number] if number < len(others) else site.own

    return choose


def _difference(site: Site, other: Site) -> torch.Tensor:
    if site.source.shape != other.source.shape:
        return torch.zeros_like(site.source, dtype=torch.float32)
    difference = (other.source.to(torch.float32) - site.source.to(torch.float32)).abs_()
    return difference.nan_to_num_(0.0, 0.0, 0.0)


def _size(site: Site) -> torch.Tensor:
    return site.source.to(torch.float32).abs().nan_to_num_(0.0, 0.0, 0.0)


def _apart(site: Site, push: Push, spread: torch.Tensor) -> torch.Tensor:
    """The choice from values that are pushed by their spread. In a selection, those that are equal to the last
    bit part too: which of them comes first is no one's to say."""
    sign = push.of(site.source)
    if site.kind == "rounding":
        return site.again(site.source.to(torch.float32) + sign * spread)
    sign = sign.to(torch.float64)
    moved = site.source.to(torch.float64) + sign * spread
    return site.again(moved * (1 + _LESS_THAN_ANY_ULP * sign) + _LEAST * sign)
