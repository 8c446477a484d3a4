"""The indices of a network of products: their sizes, which of them go together, and how many points they span.

A window, a gather, a padding or a sum by index ties indices to each other: position ``p`` of a tensor goes with
output ``y`` and tap ``k``. Such a tie is a relation, the list of all tuples that occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from solbench.bound import _access, _sets
from solbench.bound._access import Along, Fixed
from solbench.bound._network_order import Atoms
from solbench.bound._region import Region
from solbench.bound._sets import Indices

MAX_TUPLES = 1 << 21
"""Most tuples of a relation that are listed."""
MARKED = 1 << 20
"""Different tuples that there could be, up to which those that occur are marked instead of sorted."""


class TooManyTuples(Exception):
    """A relation is too large to be listed."""


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """Tuples of values that some indices have together, each tuple once."""

    atoms: tuple[int, ...]
    rows: Indices
    """(tuple, index) → value."""

    def split(self, atom: int, pair: tuple[int, int], minor: int) -> Relation:
        """One index as two, the second of size ``minor``."""
        place = self.atoms.index(atom)
        halves = np.stack(divmod(self.rows[:, place], minor), axis=1)
        rows = np.concatenate([self.rows[:, :place], halves, self.rows[:, place + 1 :]], axis=1)
        return Relation((*self.atoms[:place], *pair, *self.atoms[place + 1 :]), rows)

    def count(self, atoms: Atoms) -> int:
        """Distinct tuples over some of the indices."""
        chosen = [a for a in self.atoms if a in atoms]
        keys = self._keys(chosen)
        if prod(_top(self, a) + 1 for a in chosen) > MARKED:
            return len(np.unique(keys))
        there = np.zeros(prod(_top(self, a) + 1 for a in chosen), dtype=np.bool_)
        there[keys] = True
        return int(np.count_nonzero(there))

    def join(self, other: Relation) -> Relation:
        """Tuples over the indices of both that agree where they share some."""
        shared = [a for a in self.atoms if a in other.atoms]
        widths = [int(max(_top(r, a) for r in (self, other))) + 1 for a in shared]
        left, right = (r._keys(shared, widths) for r in (self, other))
        order = np.argsort(right, kind="stable")
        first = np.searchsorted(right[order], left, side="left")
        found = np.searchsorted(right[order], left, side="right") - first
        total = int(found.sum())
        if total > MAX_TUPLES:
            raise TooManyTuples
        mine = np.repeat(np.arange(len(left)), found)
        within = np.arange(total) - np.repeat(np.cumsum(found) - found, found)
        theirs = order[np.repeat(first, found) + within]
        own = [i for i, a in enumerate(other.atoms) if a not in shared]
        rows = np.concatenate([self.rows[mine], other.rows[theirs][:, own]], axis=1)
        return Relation((*self.atoms, *(other.atoms[i] for i in own)), rows)

    def _keys(self, atoms: Sequence[int], widths: Sequence[int] | None = None) -> Indices:
        """One number for each tuple of values of ``atoms``."""
        keys = np.zeros(len(self.rows), dtype=np.int64)
        sizes = [_top(self, a) + 1 for a in atoms] if widths is None else widths
        if prod(sizes) >= 1 << 62:
            raise TooManyTuples
        for atom, size in zip(atoms, sizes, strict=True):
            keys = keys * size + self.rows[:, self.atoms.index(atom)]
        return keys


def _top(relation: Relation, atom: int) -> int:
    return int(relation.rows[:, relation.atoms.index(atom)].max(initial=0))


@dataclass(slots=True)
class Space:
    """Indices of a network and how many points they span."""

    region: Region
    sizes: dict[int, int] = field(default_factory=dict)
    ranks: dict[int, int] = field(default_factory=dict)
    """Index → rank of the last contraction, for ranks that are not needed in full or under a mask."""
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Index → what it was split into."""
    relations: list[Relation] = field(default_factory=list)
    """What ties indices together."""
    _joined: list[Relation] | None = None
    _counted: dict[frozenset[int], int] = field(default_factory=dict)
    _tied: dict[Atoms, int] = field(default_factory=dict)

    def new(self, size: int) -> int:
        atom = len(self.sizes)
        self.sizes[atom] = size
        return atom

    def split(self, atom: int, major: int) -> tuple[int, int] | None:
        """An index as two, the first of size ``major``; nothing if the region does not let it."""
        if atom in self.ranks or self.sizes[atom] % major:
            return None
        minor = self.sizes[atom] // major
        pair = self.new(major), self.new(minor)
        self.parts[atom] = pair
        self.relations = [
            r.split(atom, pair, minor) if atom in r.atoms else r for r in self.relations
        ]
        self._forget()
        return pair

    def resolve(self, atoms: Iterable[int]) -> Iterator[int]:
        """Indices as they are by now, without those of size 1."""
        for atom in atoms:
            if atom in self.parts:
                yield from self.resolve(self.parts[atom])
            elif self.sizes[atom] != 1:
                yield atom

    def relate(self, atoms: Sequence[int], rows: Indices) -> None:
        """Tie indices together: only these tuples of their values occur."""
        if len(rows) > MAX_TUPLES:
            raise TooManyTuples
        self.relations.append(Relation(tuple(atoms), rows))
        self._forget()

    def needed(self, atom: int) -> Indices | None:
        """Values of an index that the region asks for; from then on a relation has to say so.

        ``None`` where they hang on other indices.
        """
        rank = self.ranks.get(atom)
        if rank is None:
            return np.arange(self.sizes[atom])
        if len(self.region.boxes) != 1 or any(rank in j.dims for j in self.region.boxes[0].joints):
            return None
        del self.ranks[atom]
        self._counted.clear()
        return _sets.to_array(self.region.boxes[0].sets[rank])

    def count(self, atoms: Atoms) -> int:
        """Points over some of the indices."""
        total, free = 1, set(atoms)
        for relation in self._components():
            if not len(relation.rows):
                return 0  # nothing is read through a window that lies in the padding
            own = atoms & frozenset(relation.atoms)
            if own:
                if own not in self._tied:
                    self._tied[own] = relation.count(own)
                total *= self._tied[own]
                free -= own
        total *= prod(self.sizes[a] for a in free if a not in self.ranks)
        bound = frozenset(self.ranks[a] for a in free if a in self.ranks)
        return total * self._under_region(bound)

    def _under_region(self, bound: frozenset[int]) -> int:
        if bound not in self._counted:
            shape = self.region.shape
            axes = tuple(Along(r) if r in bound else Fixed() for r in range(len(shape)))
            self._counted[bound] = _access.pull(self.region, axes, shape).count() if bound else 1
        return self._counted[bound]

    def _components(self) -> list[Relation]:
        """Relations that share no index with each other."""
        if self._joined is None:
            joined: list[Relation] = []
            for relation in self.relations:
                for other in [o for o in joined if set(o.atoms) & set(relation.atoms)]:
                    joined.remove(other)
                    relation = other.join(relation)
                joined.append(relation)
            self._joined = joined
        return self._joined

    def _forget(self) -> None:
        self._joined = None
        self._tied.clear()
