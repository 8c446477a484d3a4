"""Cache-aware terms against an exhaustive search over every schedule of tiny programs.

The search plays a red-blue pebble game with sums that grow in place.
A program is a set of sums of products. The search is a shortest path over everything that a schedule can have
in its cache; a transfer costs 1, a multiply-add nothing. A sum occupies one place from its first multiply-add
until it is written; unfinished sums may be written and read again. Intermediates are not computed twice, and a
sum has one set of partial results: two that are kept apart would have to be read to be joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from math import sqrt

import pytest

from solbench.bound.cache import chain_curve, closed_form, least_traffic, product_curve

NOWHERE, FAST, SLOW, BOTH, DEAD = range(5)
"""Where a sum is: not begun; in the cache; written and evicted; in the cache and unchanged since it was read;
no longer needed."""

State = tuple[frozenset[str], tuple[tuple[int, int], ...]]
"""Inputs in the cache; of every sum, the multiply-adds done (a bit set) and where it is."""


@dataclass(frozen=True)
class Program:
    """``sums`` maps a name to the pairs of names that are multiplied into it; the others are inputs."""

    sums: dict[str, tuple[tuple[str, str], ...]]
    outputs: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.sums)

    @property
    def inputs(self) -> tuple[str, ...]:
        read = {name for pairs in self.sums.values() for pair in pairs for name in pair}
        return tuple(sorted(read - set(self.sums)))


def matrix_product(rows: int, columns: int, inner: int) -> Program:
    sums = {
        f"c{i}{j}": tuple((f"a{i}{k}", f"b{k}{j}") for k in range(inner))
        for i in range(rows)
        for j in range(columns)
    }
    return Program(sums, frozenset(sums))


def chain(rows: int, inner: int, middle: int, columns: int) -> Program:
    """(A·B)·D."""
    first = matrix_product(rows, middle, inner).sums
    second = {
        f"e{i}{p}": tuple((f"c{i}{j}", f"d{j}{p}") for j in range(middle))
        for i in range(rows)
        for p in range(columns)
    }
    return Program({**first, **second}, frozenset(second))


def least_transfers(program: Program, capacity: int) -> int:
    """Fewest reads and writes of any schedule with ``capacity`` places. ``ValueError`` if there is none.

    A* search: of what remains, every output is written, and every input or unfinished sum that lies outside and
    is still needed is read once more.
    """
    start: State = (frozenset(), tuple((0, NOWHERE) for _ in program.names))
    best = {start: 0}
    queue: list[tuple[int, int, State]] = [(_remaining(program, start), 0, start)]
    while queue:
        _, negative, state = heappop(queue)
        cost = -negative
        if cost > best[state]:
            continue
        if all(where == DEAD for _, where in state[1]):
            return cost
        for extra, following in _moves(program, state, capacity):
            total = cost + extra
            if total < best.get(following, 1 << 30):
                best[following] = total
                heappush(queue, (total + _remaining(program, following), -total, following))
    raise ValueError(f"{capacity} places are too few")


def _remaining(program: Program, state: State) -> int:
    inputs, sums = state
    needed = {
        name
        for (done, _), pairs in zip(sums, program.sums.values(), strict=True)
        for bit, pair in enumerate(pairs)
        if not done >> bit & 1
        for name in pair
    }
    reads = sum(name not in program.sums and name not in inputs for name in needed)
    reads += sum(where == SLOW for _, where in sums)
    return reads + sum(
        where != DEAD
        for name, (_, where) in zip(program.names, sums, strict=True)
        if name in program.outputs
    )


def _moves(program: Program, state: State, capacity: int) -> Iterator[tuple[int, State]]:
    """Bring one thing into the cache, after making room if there is none.

    A sum is brought only where a multiply-add can follow at once: to bring it earlier only takes up room.
    """
    inputs, sums = state
    used = len(inputs) + sum(where in (FAST, BOTH) for _, where in sums)
    rooms = [(0, state)] if used < capacity else list(_evictions(state))
    for paid, (held, kept) in rooms:
        ready = held | _finished(program, kept)
        for name in _wanted(program, kept) - inputs:
            cost, settled = _settled(program, held | {name}, kept)
            yield paid + 1 + cost, settled
        for index, (done, where) in enumerate(sums):
            if where not in (NOWHERE, SLOW):
                continue
            pairs = program.sums[program.names[index]]
            full = done == (1 << len(pairs)) - 1
            if not full and not any(
                not done >> bit & 1 and ready.issuperset(pair) for bit, pair in enumerate(pairs)
            ):
                continue
            there = BOTH if where == SLOW else FAST
            changed = (*kept[:index], (done, there), *kept[index + 1 :])
            cost, settled = _settled(program, held, changed)
            yield paid + (where == SLOW) + cost, settled


def _wanted(program: Program, sums: tuple[tuple[int, int], ...]) -> set[str]:
    """Inputs of multiply-adds that are not done."""
    return {
        name
        for (done, _), pairs in zip(sums, program.sums.values(), strict=True)
        for bit, pair in enumerate(pairs)
        if not done >> bit & 1
        for name in pair
        if name not in program.sums
    }


def _finished(program: Program, sums: tuple[tuple[int, int], ...]) -> set[str]:
    """Sums in the cache that are complete, and so operands themselves."""
    return {
        name
        for (name, pairs), (done, where) in zip(program.sums.items(), sums, strict=True)
        if where in (FAST, BOTH) and done == (1 << len(pairs)) - 1
    }


def _evictions(state: State) -> Iterator[tuple[int, State]]:
    inputs, sums = state
    for name in inputs:
        yield 0, (inputs - {name}, sums)
    for index, (done, where) in enumerate(sums):
        if where in (FAST, BOTH):
            after = (done, SLOW)
            yield int(where == FAST), (inputs, (*sums[:index], after, *sums[index + 1 :]))


def _settled(
    program: Program, inputs: frozenset[str], sums: tuple[tuple[int, int], ...]
) -> tuple[int, State]:
    """Every multiply-add that is possible, then writes of finished outputs; neither can be a mistake."""
    state, cost, changed = list(sums), 0, True
    while changed:
        changed = False
        ready = inputs | _finished(program, tuple(state))
        for index, (name, pairs) in enumerate(program.sums.items()):
            done, where = state[index]
            if where not in (FAST, BOTH):
                continue
            for bit, pair in enumerate(pairs):
                if not done >> bit & 1 and ready.issuperset(pair):
                    done, changed = done | 1 << bit, True
                    state[index] = (done, FAST)
            if done == (1 << len(pairs)) - 1 and name in program.outputs:
                state[index], cost, changed = (done, DEAD), cost + 1, True
    missing = {
        name
        for (done, _), pairs in zip(state, program.sums.values(), strict=True)
        for bit, pair in enumerate(pairs)
        if not done >> bit & 1
        for name in pair
    }
    for index, (name, pairs) in enumerate(program.sums.items()):
        if state[index][0] == (1 << len(pairs)) - 1 and name not in missing:
            state[index] = (state[index][0], DEAD)
    return cost, (inputs & missing, tuple(state))


# ---- the cache-aware terms against it ----

PRODUCTS = [
    ((2, 2, 1), 3), ((2, 2, 1), 4), ((2, 1, 2), 3), ((2, 1, 2), 4), ((3, 2, 1), 3), ((2, 3, 1), 4),
    ((2, 1, 3), 3), ((2, 2, 2), 3), ((2, 2, 2), 4), ((2, 2, 2), 5), ((3, 3, 1), 4), ((3, 3, 1), 5),
]  # fmt: skip
CHAINS = [((2, 1, 2, 1), 4), ((2, 1, 2, 1), 5), ((1, 2, 2, 1), 3), ((1, 2, 2, 1), 5)]


@pytest.mark.parametrize(("sizes", "capacity"), PRODUCTS)
def test_no_schedule_moves_less_than_the_floor_and_the_tiling_is_a_schedule(
    sizes: tuple[int, int, int], capacity: int
) -> None:
    rows, columns, inner = sizes
    least = least_transfers(matrix_product(rows, columns, inner), capacity)
    assert least_traffic(rows * columns * inner, capacity) <= least
    assert closed_form(rows * columns * inner, capacity) <= least
    tiled = product_curve(rows, columns, inner).at(capacity)
    assert tiled is not None
    assert tiled >= least


@pytest.mark.parametrize(("sizes", "capacity"), CHAINS)
def test_no_schedule_of_a_chain_is_beaten_by_the_fused_tiling(
    sizes: tuple[int, int, int, int], capacity: int
) -> None:
    fused = chain_curve(*sizes, softmax=False).at(capacity)
    assert fused is not None
    assert fused >= least_transfers(chain(*sizes), capacity)


def test_the_search_finds_what_is_known() -> None:
    # An outer product that fits: 2 + 2 reads, 4 writes. With three places one element is read twice.
    outer = matrix_product(2, 2, 1)
    assert least_transfers(outer, 4) == 8
    assert least_transfers(outer, 3) == 9
    # A dot product needs three places whatever its length, and reads everything once.
    assert least_transfers(matrix_product(1, 1, 4), 3) == 9
    with pytest.raises(ValueError, match="too few"):
        least_transfers(outer, 2)


def test_with_room_for_everything_only_what_is_compulsory_moves() -> None:
    assert least_transfers(matrix_product(2, 2, 2), 6) == 4 + 4 + 4
    # the intermediate of a chain that fits is never moved: A 2, B 2, D 2, E 2
    assert least_transfers(chain(2, 1, 2, 1), 6) == 8
    assert chain_curve(2, 1, 2, 1, softmax=False).least == 8


def test_a_larger_constant_would_be_refuted() -> None:
    """2·2·2 with three places: 17 transfers are enough, and 4·M·N·K / √S would ask for 18.5."""
    assert least_transfers(matrix_product(2, 2, 2), 3) == 17
    assert least_traffic(8, 3) == 11
    assert 4 * 8 / sqrt(3) > 17
