"""Ways to a small instance on which lower precision can be tried: by halving axes, and by searching."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import isfinite, log2
from typing import Protocol

from solbench.bound._precision_gates import Gate, gate_of
from solbench.bound._precision_instance import (
    LARGEST_ELEMENTS,
    CannotShrink,
    Instance,
    instances,
)
from solbench.bound._precision_search import searched, start_of
from solbench.bound._precision_sites import flops
from solbench.bound._precision_trials import SEEDS, CannotTry, Trials
from solbench.bound._programs import Program
from solbench.bound.capture import capture
from solbench.bound.graph import Graph
from solbench.spec import Problem, Workload

LARGEST_REPLAY = 1 << 22
"""Elements of all values of an instance together: a replay then takes some hundredths of a second."""
MOST_FLOPS = 1 << 28
MOST_FAILURES = 3
MOST_CALLS = 50_000
"""Of all programs that a search captures: about half a minute."""


@dataclass(frozen=True, slots=True)
class TooLarge:
    """An instance that was captured, but is too large to be tried."""

    times: float
    """Of what would do."""
    calls: int


class Way(Protocol):
    """A way to a small instance."""

    def start(self) -> Workload:
        """What identifies it: workloads that begin alike end alike. Raises ``CannotTry``."""

    def prepare(self, gate: Gate) -> Trials:
        """A small instance on which the program runs and passes its own gate. Raises ``CannotTry``."""


class Halved:
    """Instances by halving axes in a fixed order, the largest that runs."""

    def __init__(self, problem: Problem, workload: Workload, lines: Collection[str]) -> None:
        self._problem, self._workload, self._lines = problem, workload, lines

    def start(self) -> Workload:
        try:
            return next(instances(self._problem, self._workload)).workload
        except CannotShrink as error:
            raise CannotTry(str(error)) from None

    def prepare(self, gate: Gate) -> Trials:
        reasons: list[str] = []
        skipped = 0
        self.start()
        for instance in instances(self._problem, self._workload):
            if len(reasons) == MOST_FAILURES:
                break
            if skipped:
                skipped -= 1
                continue
            try:
                trials = _ready(instance, gate, self._lines)
                if isinstance(trials, Trials):
                    return trials
                skipped = int(log2(trials.times))  # the next one has at best half of it
            except CannotTry as error:
                reasons.append(str(error))
        raise CannotTry("; ".join(dict.fromkeys(reasons)) or "its intermediates are too large")


class Searched:
    """An instance found by trying which axes may be smaller."""

    def __init__(self, problem: Problem, workload: Workload, lines: Collection[str]) -> None:
        self._problem, self._workload, self._lines = problem, workload, lines
        self._found: Trials | None = None
        self._calls = 0

    def start(self) -> Workload:
        return start_of(self._problem, self._workload).workload

    def prepare(self, gate: Gate) -> Trials:
        try:
            searched(self._problem, self._workload, lambda instance: self._excess(instance, gate))
        except CannotShrink as error:
            raise CannotTry(str(error)) from None
        assert self._found is not None
        return self._found

    def _excess(self, instance: Instance, gate: Gate) -> float:
        try:
            found = _ready(instance, gate, self._lines)
        except CannotTry as error:
            raise CannotShrink(str(error)) from None
        if isinstance(found, Trials):
            self._found = found
            return 1.0
        self._calls += found.calls
        if self._calls > MOST_CALLS:
            raise CannotTry("no small size was found in time")
        return found.times


WAYS = (Halved, Searched)
"""To a small instance, the cheaper one first."""


def small_programs(problem: Problem, workload: Workload) -> Iterator[tuple[Program, Graph]]:
    """The program at sizes that can be run quickly, with its graph: one for each way that leads there."""
    gate = gate_of(problem, workload)
    for way in WAYS:
        try:
            found = way(problem, workload, ()).prepare(gate)
        except CannotTry:
            continue
        yield found.instance.program, found.graph


def _ready(instance: Instance, gate: Gate, lines: Collection[str]) -> Trials | TooLarge:
    """Ready to be tried; or how much too large the instance is.

    Raises ``CannotTry`` if the program does not run, fails its own gate, or lacks a product of ``lines``.
    """
    try:
        return _captured(instance, gate, lines)
    except CannotTry:
        raise
    except Exception as error:  # noqa: BLE001 - it executes the problem's own program
        raise CannotTry(f"{type(error).__name__}: {error}".splitlines()[0]) from None


def _captured(instance: Instance, gate: Gate, lines: Collection[str]) -> Trials | TooLarge:
    graph, _ = capture(instance.program)
    trials = Trials(instance, graph, gate, frozenset(instance.problem.definition.outputs))
    if unseen := trials.unseen(lines):
        raise CannotTry(f"the product of {unseen} cannot be rounded from outside")
    elements = sum(v.numel for v in graph.values.values())
    given = sum(graph.values[v].numel for v in graph.inputs.values())
    excess = max(given / LARGEST_ELEMENTS, elements / LARGEST_REPLAY, flops(graph) / MOST_FLOPS)
    if excess > 1:
        return TooLarge(excess, len(graph.nodes))
    draw = trials.draw(SEEDS[0])
    if not draw.references:
        raise CannotTry("it returns no tensor")
    own = gate.excess(draw.references, draw.references, draw.oracle)
    if not isfinite(own) or own > 1:
        raise CannotTry("the reference itself does not pass its gate on small sizes")
    return trials
