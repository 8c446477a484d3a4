"""A small instance where halving axes finds none: sizes that a reference fixes are found by trying.

A reference may know a head's size, or need as many experts as a token chooses. Which sizes may change cannot
be read from a definition, so each step is run: it stays if the program still runs and has all its products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, prod

from solbench.bound._precision_instance import (
    LEAST_CONSTANT,
    LEAST_SIZE,
    LONG_SIZE,
    CannotShrink,
    Instance,
    elements,
    instance_at,
    lawful,
    least_size,
    shrink_order,
    sizes_of,
    still_divided,
)
from solbench.spec import ConstAxis, Problem, Workload

MOST_TOKENS = 256
"""``var`` axes that are no batch have no larger product to begin with: rows of an image, say."""
MOST_TRIES = 60
LEAST_ROWS = 32
"""Rows go down to this before columns get shorter than ``LONG_SIZE``."""
LARGEST_FACTOR = 7
"""A size with no factor up to this is cut to a power of two."""
LEAST_GAIN = 1.05
"""A constant that makes inputs and outputs no smaller than by this is left: the length of a table, say."""
WORTH_IT = 1.2
"""A step that makes the instance smaller by this is taken without a look at the others."""

Sizes = dict[str, int]
Excess = Callable[[Instance], float]
"""How many times an instance is too large. Raises ``CannotShrink`` if the program does not run there."""


@dataclass(frozen=True, slots=True)
class Step:
    """Some axes made smaller."""

    axes: tuple[str, ...]
    sizes: Sizes
    rank: tuple[int, float, int]
    """Steps are tried in this order."""

    @property
    def key(self) -> tuple[tuple[str, ...], int]:
        """Equal for steps of which one fails where the other does."""
        return self.axes, self.sizes[self.axes[-1]]


def start_of(problem: Problem, workload: Workload) -> Instance:
    """Where the search begins: ``var`` axes at sizes that many workloads share, constants as declared."""
    sizes = sizes_of(problem, workload)
    variable = [n for n in sizes if not isinstance(problem.definition.axes[n], ConstAxis)]
    for name in variable:
        sizes = _cut(problem, sizes, name, min(LONG_SIZE, least_size(problem, name)))
    long = [n for n in variable if least_size(problem, n) >= LONG_SIZE]
    while prod(sizes[n] for n in long) > MOST_TOKENS:
        name = max(long, key=lambda n: sizes[n])
        smaller = _cut(problem, sizes, name, sizes[name] // 2)
        if smaller == sizes:
            break
        sizes = smaller
    return instance_at(problem, workload, sizes)


def searched(problem: Problem, workload: Workload, excess: Excess) -> Instance:
    """An instance that is small enough, by steps that the program survives and that pay.

    Raises ``CannotShrink`` if the program does not run at the first sizes, or no step leads on.
    """
    search = _Search(problem, workload, excess)
    current = start_of(problem, workload)
    size = excess(current)
    while size > 1:
        current, size = search.next_after(current, size)
    return current


class _Search:
    """What was tried so far."""

    def __init__(self, problem: Problem, workload: Workload, excess: Excess) -> None:
        self._problem, self._workload, self._excess = problem, workload, excess
        self._refused: set[tuple[tuple[str, ...], int]] = set()
        self._reason = ""
        self._tries = 0

    def next_after(self, current: Instance, size: float) -> tuple[Instance, float]:
        """The instance after the first step that pays, else after the best one."""
        best, least = current, size
        for step in steps(self._problem, self._workload, current.axes):
            if step.key in self._refused:
                continue
            changed = instance_at(self._problem, self._workload, step.sizes)
            smaller = self._tried(step, changed)
            if smaller < least:
                best, least = changed, smaller
            if least * WORTH_IT <= size:
                break
        if best is current:
            raise CannotShrink(self._reason or "no size at which it runs is small enough")
        return best, least

    def _tried(self, step: Step, changed: Instance) -> float:
        self._tries += 1
        if self._tries > MOST_TRIES:
            raise CannotShrink("no small size was found in time")
        try:
            return self._excess(changed)
        except CannotShrink as error:
            self._refused.add(step.key)
            self._reason = str(error)
            return inf


def steps(problem: Problem, workload: Workload, sizes: Sizes) -> Iterator[Step]:
    """Every axis, and every pair of which one divides the other, made smaller; the best step first.

    Long axes go first, by themselves and then together with what divides them (a width with its heads), then
    rows, then all that is longer than ``LEAST_SIZE``. Among equals the one goes that shrinks the tensors most.
    """
    before = elements(problem, workload, sizes)
    order = {name: i for i, name in enumerate(shrink_order(problem))}
    found = []
    for axes, changed in (*_singles(problem, sizes), *_pairs(problem, sizes)):
        if not lawful(problem, changed):
            continue
        gain = before / elements(problem, workload, changed)
        if gain >= LEAST_GAIN or not isinstance(problem.definition.axes[axes[0]], ConstAxis):
            stage = _stage(problem, sizes, changed, axes)
            found.append(Step(axes, changed, (stage, -round(gain, 1), order[axes[0]])))
    yield from sorted(found, key=lambda step: step.rank)


def _singles(problem: Problem, sizes: Sizes) -> Iterator[tuple[tuple[str, ...], Sizes]]:
    for name, size in sizes.items():
        if isinstance(problem.definition.axes[name], ConstAxis):
            factor = _factor(size)
            smaller = size // factor if factor else _power_below(size)
            if smaller >= LEAST_CONSTANT:
                yield (name,), {**sizes, name: smaller}
        elif (cut := _cut(problem, sizes, name, size // 2)) != sizes:
            yield (name,), cut


def _pairs(problem: Problem, sizes: Sizes) -> Iterator[tuple[tuple[str, ...], Sizes]]:
    constants = [n for n in sizes if isinstance(problem.definition.axes[n], ConstAxis)]
    for part in constants:
        factor = _factor(sizes[part])
        for whole in constants if 1 < sizes[part] < LONG_SIZE and factor else ():
            if sizes[whole] > sizes[part] and sizes[whole] % sizes[part] == 0:
                smaller = {name: sizes[name] // factor for name in (whole, part)}
                yield (whole, part), {**sizes, **smaller}


def _stage(problem: Problem, before: Sizes, after: Sizes, axes: tuple[str, ...]) -> int:
    constants = {n for n in before if isinstance(problem.definition.axes[n], ConstAxis)}
    least = after[axes[0]]
    stage = 4 if least >= LEAST_SIZE else 8
    if least >= LONG_SIZE:
        stage = 0
    elif least >= LEAST_ROWS and _rows_only(problem, axes[0]):
        stage = 2
    declared = {n: before[n] for n in constants}, {n: after[n] for n in constants}
    if not still_divided(*declared):
        stage += 4  # heads of a few channels, say: nearly no sum is left
    return stage + len(axes) - 1


def _rows_only(problem: Problem, name: str) -> bool:
    """Whether an axis is the last of no output: more of it repeats the work, and no sum gets shorter."""
    shapes = [tensor.shape or () for tensor in problem.definition.outputs.values()]
    return any(name in shape for shape in shapes) and all(name not in s[-1:] for s in shapes)


def _cut(problem: Problem, sizes: Sizes, name: str, most: int) -> Sizes:
    """A ``var`` axis at the largest lawful size up to ``most`` and to a power of two; unchanged without one."""
    top = min(most, 1 << sizes[name].bit_length() - 1)
    tried = ({**sizes, name: size} for size in range(top, max(0, top // 4), -1))
    return next((each for each in tried if lawful(problem, each)), sizes)


def _factor(size: int) -> int:
    return next((p for p in range(2, LARGEST_FACTOR + 1) if size % p == 0), 0)


def _power_below(size: int) -> int:
    return max(1, 1 << (size // 4).bit_length())
