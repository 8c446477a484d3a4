"""The iteration space of a second product in terms of rows and columns, and the pairs that its mask leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from solbench.bound import _bands, _prefix_dims, _prefix_least, _sets
from solbench.bound._access import Along
from solbench.bound._bands import Bands
from solbench.bound._lifted import Map
from solbench.bound._prefix_dims import Atoms, Dim, Indices
from solbench.bound._prefix_least import Counts
from solbench.bound._region import Box, Joint
from solbench.bound._sets import Mask

MAX_SLICES = 1024
"""Most different masks of a batch that are looked at."""

Masks = tuple[tuple[Counts, ...], ...]
"""Parts of the mask, for each different mask of a batch."""


@dataclass(slots=True)
class Places:
    """Ranks of a second product. A row is kept and only the pairs have it, a column is summed."""

    space: Indices
    box: Box
    ranks: list[Dim]
    rows: list[int]
    columns: list[int]
    batch: list[int]
    """Ranks along which the mask differs."""
    joint: Joint | None
    """The mask, over batch, row and column; nothing if all pairs are needed."""

    def of(self, ranks: Sequence[int]) -> Atoms:
        return self.space.of(self.ranks[r] for r in ranks)

    def together(self) -> tuple[int, int]:
        """How many rows and columns count as one."""
        if self.joint is not None:
            return 1, 1
        rows, columns = (
            self.space.count(a for r in group for a in self.ranks[r].atoms)
            for group in (self.rows, self.columns)
        )
        return rows, columns

    def pairs(self) -> Mask | Bands | None:
        """The mask over row and column, of all of a batch together."""
        if self.joint is None:
            return None
        if self.batch:
            return np.asarray(self._dense().any(axis=tuple(range(len(self.batch)))))
        turned = self.joint.dims[0] != self.rows[0]
        return _prefix_least.transposed(self.joint.mask) if turned else self.joint.mask

    def masks(self) -> Masks | None:
        """What the mask leaves, within the positions that are needed; ``None`` if it is too scattered.

        Without a mask states are worth their cost for all rows and columns, or for none: they count as one.
        """
        if self.joint is None:
            return ((_prefix_least.SINGLE,),)
        row, column = (_sets.to_array(self.box.sets[g[0]]) for g in (self.rows, self.columns))
        if not self.batch:
            turned = self.joint.dims[0] != self.rows[0]
            cut = [_prefix_least.restricted(self.joint.mask, row, column, turned)]
        else:
            chosen = [_sets.to_array(self.box.sets[r]) for r in self.batch]
            dense = self._dense()[np.ix_(*chosen, row, column)]
            cut = list(dense.reshape(-1, *dense.shape[-2:]))
        found = [_prefix_least.parts(mask) for mask in cut] if len(cut) <= MAX_SLICES else [None]
        return None if None in found else tuple(tuple(f) for f in found if f is not None)

    def over(self, atoms: Sequence[int]) -> Mask | Bands | None:
        """Where some pair is, over indices that the ranks of the mask were split into, in the order given.

        Of a large mask, intervals that hold all pairs.
        """
        assert self.joint is not None
        own: list[int] = []
        sizes: list[int] = []
        for rank in (*self.batch, *self.rows, *self.columns):
            parts = list(self.space.resolve(self.ranks[rank].atoms))
            size = self.joint.mask.shape[self.joint.dims.index(rank)]
            own += parts
            whole = len(parts) == 1  # also where not all positions are needed
            sizes += [size] if whole else [self.space.sizes[a] for a in parts]
        if not {*atoms} <= {*own} or prod(sizes) != prod(self.joint.mask.shape):
            return None
        lost = tuple(axis for axis, atom in enumerate(own) if atom not in atoms)
        kept = [atom for atom in own if atom in atoms]
        if not isinstance(self.joint.mask, Bands):
            dense = self._dense().reshape(sizes).any(axis=lost)
            return np.asarray(dense).transpose([kept.index(a) for a in atoms])
        mask = self.pairs()
        if not isinstance(mask, Bands) or kept != [*atoms] or own[-1] != atoms[-1]:
            return None
        empty = mask.low >= mask.high
        low = np.where(empty, mask.width, mask.low).reshape(sizes[:-1]).min(axis=lost)
        high = np.where(empty, 0, mask.high).reshape(sizes[:-1]).max(axis=lost)
        return _bands.bands(low.reshape(-1), high.reshape(-1), mask.width)

    def _dense(self) -> Mask:
        """The mask with the ranks of the batch first, then row and column."""
        assert self.joint is not None
        order = [self.joint.dims.index(r) for r in (*self.batch, *self.rows, *self.columns)]
        return self.joint.dense().transpose(order)


def places(item: Map, box: Box, side: int) -> Places | None:
    """Rows and columns, if one operand (``side``) is read as pairs of them; ``None`` if not."""
    reads = [{a.rank for a in o.axes if isinstance(a, Along)} for o in item.operands]
    theirs = reads[1 - side] if len(reads) > 1 else None
    wide = [r for r in sorted(reads[side]) if len(box.sets[r]) > 1]
    summed = {r for r in wide if _prefix_dims.is_summed(item, r)}
    rows = [r for r in wide if r not in summed and (theirs is None or r not in theirs)]
    columns = [r for r in wide if r in summed and (theirs is None or r in theirs)]
    batch: list[int] = []
    joint = box.joints[0] if box.joints else None
    if joint is not None:
        rows = [r for r in rows if r in joint.dims][-1:]
        columns = [r for r in columns if r in joint.dims]
        batch = [r for r in joint.dims if r not in (*rows, *columns)]
        if len(columns) > 1 or summed & {*batch} or (batch and not joint.holdable):
            return None
    if not rows or not columns or len(box.joints) > 1:
        return None
    space = Indices()
    ranks = [
        Dim((space.new(len(s)),), exact=len(s) == n, placed=True)
        for s, n in zip(box.sets, item.ranks, strict=True)
    ]
    return Places(space, box, ranks, rows, columns, batch, joint)
