"""Held-out workloads: sizes near the published ones, drawn from a secret when a solution is judged.

A solution that only serves the published sizes fails on them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from solbench import spec
from solbench.errors import InputError
from solbench.suite._catalogue import source_of
from solbench.suite._export import build, workloads_of
from solbench.suite._form import Problem, Rows, var
from solbench.suite._source import ProblemSource

LEAST_SHARE = 0.6
"""A drawn size is at least this share of the published one that it stands for: the regime stays the same."""
_TRIES = 100


def held_out(name: str, secret: str, count: int, *, smoke: bool = False) -> spec.Problem:
    """The problem with ``count`` workloads of its own that no one has published.

    The same secret gives the same sizes. Raises ``InputError`` for an unknown name, and for a problem whose
    sizes leave no room for others.
    """
    return held_out_of(source_of(name), secret, count, smoke=smoke)


def held_out_of(
    source: ProblemSource, secret: str, count: int, *, smoke: bool = False
) -> spec.Problem:
    """As ``held_out``, of a problem that need not be in the catalogue."""
    published = build(source, smoke=smoke)
    rows = source.problem.smoke if smoke else source.problem.workloads
    generator = random.Random(f"{secret}:{source.name}")
    known = set(rows.values)
    found: list[spec.Workload] = []
    for _ in range(_TRIES * count):
        row = _drawn(generator, rows, _steps(source.problem))
        (workload,) = workloads_of(source.problem, Rows(rows.axes, (row,)))
        if row not in known and _is_allowed(published, workload):
            known.add(row)
            found.append(workload)
        if len(found) == count:
            return spec.make_problem(published.definition, found)
    raise InputError(
        f"'{source.name}' has no room for {count} held-out workloads, only for {len(found)}"
    )


def _drawn(generator: random.Random, published: Rows, steps: Mapping[str, int]) -> tuple[int, ...]:
    base = generator.choice(published.values)
    return tuple(
        _near(generator, size, steps[axis]) if axis in steps else size
        for axis, size in zip(published.axes, base, strict=True)
    )


def _is_allowed(problem: spec.Problem, workload: spec.Workload) -> bool:
    values = problem.axis_values(workload)
    return all(spec.holds(each, values) for each in problem.definition.constraints)


def _steps(problem: Problem) -> Mapping[str, int]:
    """Axes that may vary, and what divides all their published sizes: what a kernel may rely on."""
    allowed = problem.held_out_axes
    if allowed is None:
        allowed = tuple(axis for axis, value in problem.axes.items() if value is var)
    sizes = [*problem.workloads.sizes(), *problem.smoke.sizes()]
    return {axis: math.gcd(*(row[axis] for row in sizes if axis in row)) for axis in allowed}


def _near(generator: random.Random, size: int, step: int) -> int:
    """A multiple of ``step`` that is at most ``size`` and not much less."""
    least = max(1, math.ceil(LEAST_SHARE * size / step))
    return step * generator.randint(least, size // step)
