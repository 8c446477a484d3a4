"""A small instance of a problem, on which lower precision is tried: the same program at capped sizes.

What a rounding does to an output depends on the values and on the sums, hardly on the number of rows. So rows
go first, and dimensions that no output has (they are summed) last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from solbench.bound._programs import Program, problem_program
from solbench.errors import SolBenchError
from solbench.spec import ConstAxis, Problem, ScalarInput, VarAxis, Workload, holds, make_problem

LARGEST_ELEMENTS = 1 << 19
"""Of all inputs and outputs together: 4 MiB in float64."""
LEAST_SIZE = 16
"""No axis but a batch (the first of three dimensions or more) is made smaller than this."""
LEAST_CONSTANT = 2
"""Heads and the like go down to this in the end."""
LONG_SIZE = 128
"""Sequences, rows and columns go down to this first."""
_UUID = "precision-test"
"""Of every small workload, so that workloads which shrink to the same sizes are one."""


class CannotShrink(Exception):
    """There is no instance that is small enough."""


@dataclass(frozen=True, slots=True)
class Instance:
    """The problem at sizes that a test can afford."""

    problem: Problem
    workload: Workload
    axes: dict[str, int]
    """Sizes of all axes but ``expr`` ones."""

    @property
    def program(self) -> Program:
        return problem_program(self.problem, self.workload)


def instances(problem: Problem, workload: Workload) -> Iterator[Instance]:
    """Ever smaller instances, from the largest that fits; declared constants shrink after all ``var`` axes.

    Raises ``CannotShrink`` if even the least sizes are too large.
    """
    found = False
    current: dict[str, int] | None = sizes_of(problem, workload)
    while current is not None:
        if elements(problem, workload, current) <= LARGEST_ELEMENTS:
            found = True
            yield instance_at(problem, workload, current)
        current = _smaller(problem, current)
    if not found:
        raise CannotShrink("the problem is too large to be tried at any size")


def sizes_of(problem: Problem, workload: Workload) -> dict[str, int]:
    """Sizes of all axes but ``expr`` ones."""
    values = problem.axis_values(workload)
    axes = problem.definition.axes.items()
    return {name: values[name] for name, axis in axes if isinstance(axis, ConstAxis | VarAxis)}


def _smaller(problem: Problem, sizes: dict[str, int]) -> dict[str, int] | None:
    """The first axis that can be, made smaller; ``None`` if none can.

    In turn: ``var`` axes down to a length at which sums are still long, constants that outputs have (heads,
    columns), then the rest.
    """
    axes = problem.definition.axes
    order = [name for name in shrink_order(problem) if name in sizes]
    variable = [name for name in order if isinstance(axes[name], VarAxis)]
    constant = [name for name in order if name not in variable]
    shown = {n for tensor in problem.definition.outputs.values() for n in tensor.shape or ()}
    stages = (
        (variable, LONG_SIZE),
        ([name for name in constant if name in shown], LONG_SIZE),
        ([name for name in constant if name in shown], LEAST_SIZE),
        (variable, LEAST_SIZE),
        (constant, LEAST_SIZE),
        (constant, LEAST_CONSTANT),
        (variable, LEAST_CONSTANT),
    )
    for names, least in stages:
        for name in names:
            found = _capped(problem, name, sizes, min(least, least_size(problem, name)))
            if found is not None:
                return found
    return None


def least_size(problem: Problem, name: str) -> int:
    """1 or 2 for the first of four or three dimensions in every output, which mostly repeats the work."""
    shapes = [t.shape or () for t in problem.definition.outputs.values()]
    rank = min((len(s) for s in shapes if s and s[0] == name), default=0)
    first = all(s and s[0] == name for s in shapes)
    return {3: 2}.get(rank, 1) if first and rank > 2 else LONG_SIZE


def shrink_order(problem: Problem) -> list[str]:
    """Axes in the order in which they are capped: leading dimensions of outputs first, summed axes last."""
    shapes = [t.shape or () for t in problem.definition.outputs.values()]
    depth = max((len(s) for s in shapes), default=0)
    leading = [s[d] for d in range(depth) for s in shapes if d < len(s)]
    return list(dict.fromkeys((*leading, *problem.definition.axes)))


def _capped(
    problem: Problem, name: str, sizes: dict[str, int], least: int
) -> dict[str, int] | None:
    """One axis smaller: a constant halved, a ``var`` axis to a power of two, so that many workloads meet."""
    size = sizes[name]
    if isinstance(problem.definition.axes[name], VarAxis):
        smaller = 1 << (size - 1).bit_length() - 1 if size > 1 else 1
        changed = {**sizes, name: smaller}
    else:
        constants = {
            n: s for n, s in sizes.items() if isinstance(problem.definition.axes[n], ConstAxis)
        }
        smaller = size // 2 if size % 2 == 0 and not _products(name, constants) else size
        changed = {**sizes, name: smaller}
        for other in constants:
            if name in _products(other, constants):
                changed[other] = sizes[other] // 2
        if not still_divided(constants, changed):
            return None
    if not least <= smaller < size:
        return None
    return changed if lawful(problem, changed) else None


def _products(name: str, constants: dict[str, int]) -> set[str]:
    """Constants of which this one is a product, as a width is of heads and their size: it follows them."""
    size = constants[name]
    if size <= LONG_SIZE:
        return set()  # small numbers are products by chance
    others = [n for n in constants if n != name and 1 < constants[n] < size]
    pairs = ((a, b) for a in others for b in others if a < b)
    return {n for a, b in pairs if constants[a] * constants[b] == size for n in (a, b)}


def still_divided(before: dict[str, int], after: dict[str, int]) -> bool:
    """What a small constant (heads, groups) divides, it must still divide, and into parts that are not tiny:
    a sum over one element says nothing about precision."""
    factors = [_products(name, before) for name in before]
    pairs = (
        (whole, part)
        for part, size in before.items()
        for whole in before
        if 1 < size <= LONG_SIZE and before[whole] > size and before[whole] % size == 0
        if not any({whole, part} <= both for both in factors)  # heads and their size: chance
    )
    return all(
        after[whole] % after[part] == 0
        and (
            before[whole] <= LONG_SIZE  # heads in groups
            or part in _products(whole, before)  # the rest is an axis itself
            or after[whole] // after[part] >= min(before[whole] // before[part], LEAST_SIZE)
        )
        for whole, part in pairs
    )


def lawful(problem: Problem, sizes: dict[str, int]) -> bool:
    """Whether the declared constraints hold."""
    workload = Workload(uuid=_UUID, axes=sizes)
    try:
        values = problem.axis_values(workload)
        return all(holds(c, values) for c in problem.definition.constraints)
    except SolBenchError:
        return False


def elements(problem: Problem, full: Workload, sizes: dict[str, int]) -> int:
    """Of all inputs and outputs together."""
    workload = full.model_copy(update={"axes": sizes})
    names = [(n, problem.input_shape) for n in problem.definition.inputs]
    names += [(n, problem.output_shape) for n in problem.definition.outputs]
    return sum(prod(shape(workload, n) or ()) for n, shape in names)


def instance_at(problem: Problem, full: Workload, sizes: dict[str, int]) -> Instance:
    """The problem at these sizes; scalars that stand for an axis follow it."""
    inputs = {
        name: ScalarInput(type="scalar", value=sizes[name])
        if isinstance(how, ScalarInput) and name in sizes
        else how
        for name, how in full.inputs.items()
    }
    small = full.model_copy(update={"uuid": _UUID, "axes": sizes, "inputs": inputs})
    alone = make_problem(
        problem.definition, (small,), folder=problem.folder, blob_roots=problem.blob_roots
    )
    return Instance(alone, small, sizes)
