"""Builds the functional graph: values, aliases, and the removal of mutation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import torch

from solbench.bound.capture._aliases import (
    Alias,
    Geometry,
    Root,
    Storage,
    ViewOf,
    bytes_spanned,
    geometry_of,
)
from solbench.bound.capture._writeback import ViewWrite, write_back
from solbench.bound.graph import ABSENT, Graph, Node, Ref, Value
from solbench.errors import CaptureError

CONSTANT, FROM_INDICES, FROM_SCALARS, FROM_FLOATS = 0, 1, 2, 3
"""What a value's contents depend on at most: nothing; integer and boolean inputs; 0-D floating inputs; other
floating inputs and chance."""

INDEX_DTYPES = frozenset(
    {
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.uint16, torch.uint32, torch.uint64,
    }
)  # fmt: skip
"""Dtypes whose contents may decide the bound; packed floats are no integers."""

LARGEST_KNOWN_ELEMENTS = 1 << 26
"""Contents of larger results are not computed below the ``real`` rung; an 8192 × 8192 mask still is."""


class GraphBuilder:
    """A growing graph, with the memory of the program that it describes."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.producers: dict[int, int] = {}
        """Value id → position of its node."""
        self.levels: dict[int, int] = {}
        """Value id → what its contents depend on."""
        self._storages: dict[int, Storage] = {}
        self._numbers = count()

    def alias_of(self, tensor: torch.Tensor) -> Alias | None:
        """The alias that a tensor stands for; ``None`` if its memory was never seen."""
        storage = self._storages.get(tensor.untyped_storage()._cdata)
        if storage is None:
            return None
        geometry = geometry_of(tensor)
        alias = storage.aliases.get(geometry)
        return alias if alias is not None else self._strided_alias(storage, geometry)

    def exact_alias_of(self, tensor: torch.Tensor) -> Alias | None:
        """The alias of this geometry, if a recorded call made one."""
        storage = self._storages.get(tensor.untyped_storage()._cdata)
        return None if storage is None else storage.aliases.get(geometry_of(tensor))

    def shares_memory(self, tensor: torch.Tensor, alias: Alias) -> bool:
        """Whether a tensor lies on the storage of an alias."""
        return bool(tensor.untyped_storage()._cdata == alias.storage)

    def add_root(self, tensor: torch.Tensor, level: int) -> Alias:
        """A tensor with memory of its own; registers its value."""
        memory = tensor.untyped_storage()
        storage = self._storages.get(memory._cdata)
        if storage is None:
            storage = Storage(next(self._numbers), memory)
            self._storages[memory._cdata] = storage
        geometry = geometry_of(tensor)
        value = self.new_value(geometry, storage.number, level)
        alias = Alias(geometry, memory._cdata, Root(), value, 0)
        storage.aliases[geometry] = alias
        return alias

    def add_view(self, tensor: torch.Tensor, parent: Alias, view: ViewOf) -> Alias:
        """An alias made from ``parent``; its value id is new but its node is the caller's to emit."""
        geometry = geometry_of(tensor)
        storage = self._storages[parent.storage]
        value = self.new_value(geometry, storage.number, self.levels[parent.value])
        alias = Alias(geometry, parent.storage, parent.root, value, parent.root.version, view)
        known = storage.aliases.get(geometry)
        if known is not None:
            # Stale until now: keep the object, since other views may hang on it.
            known.value, known.version = value, alias.version
            return known
        storage.aliases[geometry] = alias
        return alias

    def new_value(self, geometry: Geometry, storage_number: int, level: int) -> int:
        shape, stride, offset, dtype = geometry[:4]
        value = len(self.graph.values)
        self.graph.values[value] = Value(value, shape, dtype, stride, storage_number, offset)
        self.levels[value] = level
        return value

    def new_version(self, alias: Alias, level: int) -> int:
        """A value for what an in-place call leaves in ``alias``; ``write`` puts it there."""
        return self.new_value(alias.geometry, self._storages[alias.storage].number, level)

    def copy_of(self, value: int) -> int:
        """A further id for something that equals ``value``."""
        old = self.graph.values[value]
        geometry = (old.shape, old.stride, old.storage_offset, old.dtype)
        return self.new_value(geometry, old.storage, self.levels[value])

    def new_number(self, level: int, dtype: torch.dtype) -> int:
        """A 0-D value for a Python number that the program got from a tensor of this dtype."""
        return self.new_value(((), (), 0, dtype), next(self._numbers), level)

    def emit(self, op: str, args: dict[str, Any], outputs: Sequence[int], location: str) -> None:
        position = len(self.graph.nodes)
        self.graph.nodes.append(Node(op, args, tuple(outputs), location))
        for output in outputs:
            if output != ABSENT:
                self.producers[output] = position

    def read(self, alias: Alias, location: str) -> int:
        """The value that an alias holds now; re-made from its parent after a write elsewhere."""
        if alias.version == alias.root.version:
            return alias.value
        chain = [alias]
        while chain[-1].view is not None and not chain[-1].view.parent.fresh:
            chain.append(chain[-1].view.parent)
        for stale in reversed(chain):
            assert stale.view is not None
            args = {**stale.view.args, "self": Ref(stale.view.parent.value)}
            level = self.levels[stale.view.parent.value]
            stale.value = self.new_version(stale, level)
            stale.version = stale.root.version
            self.emit(stale.view.op, args, (stale.value,), location)
        return alias.value

    def write(self, alias: Alias, value: int, location: str) -> None:
        """Let ``alias`` hold ``value``, and with it every tensor that it is a view of."""
        self._refuse_overlap(alias, location)
        written = [(alias, value)]
        while (view := written[-1][0].view) is not None:
            old = self.read(view.parent, location)
            value = self._write_into(view, old, written[-1], location)
            written.append((view.parent, value))
        alias.root.version += 1
        for holder, new in written:
            holder.value, holder.version = new, alias.root.version

    def replace_root(self, tensor: torch.Tensor, level: int) -> Alias:
        """After ``out=`` or ``resize_`` gave a tensor another geometry: it starts anew."""
        self._storages.pop(tensor.untyped_storage()._cdata, None)
        return self.add_root(tensor, level)

    def _write_into(
        self, view: ViewOf, old_parent: int, child: tuple[Alias, int], location: str
    ) -> int:
        call = write_back(
            ViewWrite(
                op=view.op,
                args=view.args,
                parent=Ref(old_parent),
                parent_geometry=view.parent.geometry,
                child=Ref(child[1]),
                child_geometry=child[0].geometry,
            )
        )
        level = max(self.levels[child[1]], self.levels[old_parent] if call.keeps_old else 0)
        new = self.new_version(view.parent, level)
        self.emit(call.op, call.args, (new,), location)
        return new

    def _strided_alias(self, storage: Storage, geometry: Geometry) -> Alias:
        """A geometry that no recorded call made (``.data``, ``set_``, saved by autograd)."""
        shape, stride, offset, dtype = geometry[:4]
        root = next((root for root in storage.roots() if root.geometry[3] == dtype), None)
        if root is None:
            raise CaptureError(f"a {dtype} tensor appeared on memory of another dtype")
        args = {"self": None, "size": shape, "stride": stride, "storage_offset": offset}
        view = ViewOf(root, "aten.as_strided.default", args)
        # One version behind, so that the first read emits the call.
        alias = Alias(geometry, root.storage, root.root, ABSENT, -1, view)
        storage.aliases[geometry] = alias
        return alias

    def _refuse_overlap(self, alias: Alias, location: str) -> None:
        roots = self._storages[alias.storage].roots()
        if len(roots) < 2:
            return
        first, last = bytes_spanned(alias.geometry)
        for other in roots:
            start, end = bytes_spanned(other.geometry)
            if other.root is not alias.root and start < last and first < end:
                raise CaptureError(
                    "writes to an input that overlaps another input in memory", location=location
                )
