"""Which precision a problem's gate lets through, place by place: the evidence behind an admitted class.

A bound must hold for every kernel that the gate passes, so each product is priced at the fastest kind that
passes when it alone is lowered. All places together at their fastest kinds are tried first: if that passes,
one trial has said everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from solbench.bound._precision_cache import Known, graph_shape, keep, key_of, known
from solbench.bound._precision_gates import Gate, gate_of
from solbench.bound._precision_result import Admission, PlaceAdmission, Trial
from solbench.bound._precision_trials import CannotTry, Trials
from solbench.bound._precision_ways import WAYS, Way
from solbench.bound._result import Demand, NodeCost
from solbench.bound.graph import Graph
from solbench.spec import Problem, Workload

MOST_PLACES = 12
"""With more, the products of one line are tried together."""
SMALL_SHARE = 0.01
"""Places with less of the work than this are taken to pass: they cannot move a bound by more."""

LEAST_SAVING = 0.01
"""A part in a faster kind is priced if it saves this much of the product's time."""

Faster = Callable[[str], Mapping[str, float]]
"""Declared class → kinds that the device does faster and how many times as fast, the fastest first."""


@dataclass(frozen=True, slots=True)
class Place:
    """Products that are tried together."""

    key: str
    calls: tuple[int, ...]
    """Positions in the graph of the bound."""
    positions: tuple[int, ...]
    """The same calls in the small graph."""
    declared: str
    location: str
    flops: int


def admit(
    problem: Problem, workload: Workload, graph: Graph, demand: Demand, faster: Faster
) -> Admission:
    """Try every class that the device does faster than the declared one, on a small instance.

    ``graph`` and ``demand`` are those of the full workload. Never raises for what the problem's own program
    does: that leaves the question undecided.
    """
    gate = gate_of(problem, workload)
    rows = [r for r in demand.nodes if r.matrix_flops and r.position >= 0 and faster(r.precision)]
    if not rows:
        return Admission("not_needed", "the device multiplies in no faster class")
    lines = _lines(rows)
    reasons: list[str] = []
    with _one_thread():
        for way in WAYS:
            try:
                return _Bench(problem, lines, gate, way(problem, workload, lines)).decide(
                    graph, rows, faster
                )
            except CannotTry as error:
                reasons.append(str(error))
    return Admission("undecided", "; ".join(dict.fromkeys(reasons)), gate.name)


def _lines(rows: Sequence[NodeCost]) -> tuple[str, ...]:
    """Lines of the program with products that matter: an instance needs all of them."""
    flops: dict[str, int] = {}
    for row in rows:
        flops[row.location] = flops.get(row.location, 0) + row.matrix_flops
    total = sum(flops.values())
    return tuple(line for line, own in flops.items() if own >= SMALL_SHARE * total)


@contextmanager
def _one_thread() -> Iterator[None]:
    """The tensors are small: threads would wait for each other longer than they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Bench:
    """Trials of one small instance, from the cache where they were made before."""

    def __init__(self, problem: Problem, lines: Sequence[str], gate: Gate, way: Way) -> None:
        self._way, self._gate = way, gate
        self._key = key_of(problem, way.start(), gate, (type(way).__name__, *lines))
        self._known: Known = known(self._key)
        self._trials: Trials | None = None
        if self._known.refused:
            raise CannotTry(self._known.refused)

    def decide(self, graph: Graph, rows: Sequence[NodeCost], faster: Faster) -> Admission:
        """The admission of every place."""
        places = self._places(graph, rows)
        try:
            found, together = self._tried(places, faster)
        finally:
            if self._trials is not None:
                keep(self._key, self._known)
        lowered = any(p.lowered for p in found)
        return Admission(
            "admitted" if lowered else "declared", "", self._gate.name,
            self._known.axes, tuple(found), together,
        )  # fmt: skip

    def _ready(self) -> Trials:
        if self._trials is None:
            try:
                self._trials = self._way.prepare(self._gate)
            except CannotTry as error:
                self._known.refused = str(error)
                keep(self._key, self._known)
                raise
            self._known.axes = self._trials.instance.axes
            self._known.shape = graph_shape(self._trials.graph)
        return self._trials

    def _places(self, graph: Graph, rows: Sequence[NodeCost]) -> list[Place]:
        """Products by call where the small graph has the same calls, else by operation and line."""
        if not self._known.shape:
            self._ready()
        same = self._known.shape == graph_shape(graph)
        by_call = same and len({r.position for r in rows}) <= MOST_PLACES
        groups: dict[str, list[NodeCost]] = {}
        for row in rows:
            key = f"call {row.position}" if by_call else f"{row.op} at {row.location}"
            groups.setdefault(key, []).append(row)
        places = []
        for key, members in groups.items():
            widest = max(members, key=lambda r: r.matrix_flops)
            calls = tuple(dict.fromkeys(r.position for r in members))
            positions = calls if same else self._positions(members[0])
            flops = sum(r.matrix_flops for r in members)
            places.append(Place(key, calls, positions, widest.precision, widest.location, flops))
        return sorted(places, key=lambda p: -p.flops)

    def _positions(self, row: NodeCost) -> tuple[int, ...]:
        """Calls of the small graph on the same line: of the same operation, else all products."""
        trials = self._ready()
        line = [p for p, n in enumerate(trials.graph.nodes) if n.location == row.location]
        same = tuple(p for p in line if trials.graph.nodes[p].op == row.op)
        return same or tuple(p for p in line if trials.sites(p))

    def _tried(
        self, places: Sequence[Place], faster: Faster
    ) -> tuple[list[PlaceAdmission], bool | None]:
        total = sum(p.flops for p in places)
        large = [p for p in places if p.flops >= SMALL_SHARE * total]
        small = [_assumed(p, faster) for p in places if p not in large]
        fastest = {p: next(iter(faster(p.declared))) for p in large}
        joint = self._trial(fastest)
        if joint.passed:
            made = [_found(p, fastest[p], [_as(joint, fastest[p])]) for p in large]
            return [*made, *small], True
        found = {p: self._alone(p, faster) for p in large}
        chosen = {p: a.admitted for p, a in found.items() if a.admitted != a.declared}
        together = self._trial(chosen).passed if len(chosen) > 1 else None
        return [*found.values(), *small], together

    def _alone(self, place: Place, faster: Faster) -> PlaceAdmission:
        trials: list[Trial] = []
        speeds = {**faster(place.declared), place.declared: 1.0}
        kind = place.declared
        for each in faster(place.declared):
            trials.append(self._trial({place: each}))
            if trials[-1].passed:
                kind = each
                break
        return _with_part(_found(place, kind, trials), speeds)

    def _trial(self, kinds: dict[Place, str]) -> Trial:
        name = "; ".join(sorted(f"{place.key} = {kind}" for place, kind in kinds.items()))
        if name not in self._known.trials:
            trials = self._ready()
            for place in kinds:
                _refuse_unseen(place, trials)
            by_call = {p: kind for place, kind in kinds.items() for p in place.positions}
            label = next(iter(kinds.values())) if len(kinds) == 1 else "together"
            self._known.trials[name] = trials.run(by_call, label)
        return self._known.trials[name]


def _refuse_unseen(place: Place, trials: Trials) -> None:
    """Every product must be one that can be rounded: an untouched one would seem to pass."""
    if not place.positions or not all(trials.sites(p) for p in place.positions):
        raise CannotTry(
            f"the product of {place.location or place.key} cannot be rounded from outside"
        )


def _assumed(place: Place, faster: Faster) -> PlaceAdmission:
    return _found(place, next(iter(faster(place.declared))), ())


def _with_part(place: PlaceAdmission, speeds: Mapping[str, float]) -> PlaceAdmission:
    """The best mix of what passes with one faster kind that does not.

    One constraint, the gate's room for errors, leaves an optimum of two kinds at most.
    """
    slow = speeds[place.admitted]
    savings = {t.kind: t.share * (1 - slow / speeds[t.kind]) for t in place.trials if not t.passed}
    best = max(savings, key=lambda kind: savings[kind], default="")
    if not best or savings[best] < LEAST_SAVING:
        return place
    share = next(t.share for t in place.trials if t.kind == best)
    return replace(place, part=best, part_share=share)


def _found(place: Place, kind: str, trials: Sequence[Trial]) -> PlaceAdmission:
    return PlaceAdmission(place.location, place.declared, kind, tuple(trials), place.calls)


def _as(trial: Trial, kind: str) -> Trial:
    return replace(trial, kind=kind)


def priced_kinds(demand: Demand, places: Iterable[PlaceAdmission]) -> dict[str, int]:
    """FLOPs by the kind that they are priced at.

    What a better order of a chain saves is booked on a class and not on a place: here it is taken from the
    products that stay as declared, which can only make the bound smaller.
    """
    lowered = {call: place for place in places if place.lowered for call in place.calls}
    kinds: dict[str, int] = {}
    left = dict(demand.matrix_flops)
    for row in demand.nodes:
        place = lowered.get(row.position)
        moved = min(row.matrix_flops, left.get(row.precision, 0))
        if place is None or not moved:
            continue
        for kind, flops in place.split(moved).items():
            if kind != place.declared:
                left[row.precision] -= flops
                kinds[kind] = kinds.get(kind, 0) + flops
    for narrow, flops in demand.mixed_flops.items():
        mixed = min(flops, left.get("fp32", 0))
        left["fp32"] = left.get("fp32", 0) - mixed
        kinds[f"fp32*{narrow}"] = mixed
    for name, flops in left.items():
        kinds[name] = kinds.get(name, 0) + flops
    return {name: flops for name, flops in kinds.items() if flops > 0}
