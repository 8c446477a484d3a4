"""Who shares memory with whom, and which value each alias holds now.

Two tensors of equal geometry on one storage hold the same contents, so an alias is known by its storage and
geometry, not by its Python object: that also finds tensors which autograd saved and handed back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

Geometry = tuple[Any, ...]
"""(shape, stride, storage offset, dtype), and the lazy conjugate and negative bits of a complex tensor."""


def geometry_of(tensor: torch.Tensor) -> Geometry:
    """The key of a tensor within its storage."""
    key = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype)
    if tensor.dtype.is_complex or tensor.is_neg():
        return (*key, tensor.is_conj(), tensor.is_neg())
    return key


def bytes_spanned(geometry: Geometry) -> tuple[int, int]:
    """First byte and one past the last byte that a geometry can touch."""
    shape, stride, offset, dtype = geometry[:4]
    if 0 in shape:
        return (0, 0)
    last = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return offset * dtype.itemsize, (last + 1) * dtype.itemsize


@dataclass(slots=True)
class Root:
    """A tensor that owns its part of a storage: an input, a constant, or a fresh result."""

    version: int = 0


@dataclass(slots=True)
class ViewOf:
    """How an alias is made from its parent: one call with one result."""

    parent: Alias
    op: str
    args: dict[str, Any]
    """As in ``Node.args``; the entry ``self`` is replaced."""


@dataclass(slots=True)
class Alias:
    """One geometry of a storage."""

    geometry: Geometry
    storage: int
    root: Root
    value: int
    version: int
    view: ViewOf | None = None
    """``None``: this is the root itself."""

    @property
    def fresh(self) -> bool:
        """Nothing was written to its root since ``value`` was made."""
        return self.version == self.root.version


@dataclass(slots=True)
class Storage:
    """All aliases of one piece of memory."""

    number: int
    keep_alive: Any
    """The storage object itself, so that its address is not used again."""
    aliases: dict[Geometry, Alias] = field(default_factory=dict)

    def roots(self) -> list[Alias]:
        return [alias for alias in self.aliases.values() if alias.view is None]
