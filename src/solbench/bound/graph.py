"""The captured program: a functional graph of ATen calls over immutable values.

This is the seam between capture (which writes it) and analysis (which reads it). Capture has already
removed mutation: an in-place call appears as a call whose outputs are the *new* versions of what it wrote,
and a write through a view appears as ``*_scatter`` into its base. Nothing here knows about devices or cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Value:
    """One immutable tensor of the program."""

    id: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    stride: tuple[int, ...]
    storage: int
    """Identity of the memory behind it; inputs that share a storage share this number."""
    storage_offset: int = 0
    """In elements of ``dtype``."""

    @property
    def numel(self) -> int:
        result = 1
        for size in self.shape:
            result *= size
        return result


@dataclass(frozen=True, slots=True)
class Ref:
    """An argument that is a value of the graph."""

    id: int


@dataclass(frozen=True, slots=True)
class Node:
    """One ATen call, its arguments bound to the names of its schema, defaults filled in."""

    op: str
    """Qualified overload, such as ``aten.mm.default``."""
    args: dict[str, Any]
    """Argument name → constant, ``Ref``, or a tuple that holds Refs and constants."""
    outputs: tuple[int, ...]
    """Value ids; first the results, then new versions of mutated arguments."""
    location: str
    """``line 12: y = x @ w`` of the reference; empty if unknown."""

    def refs(self) -> Iterator[int]:
        """Ids of all values read, in argument order, repeats included."""
        for argument in self.args.values():
            yield from _refs(argument)


def _refs(argument: Any) -> Iterator[int]:
    if isinstance(argument, Ref):
        yield argument.id
    elif isinstance(argument, tuple | list):
        for item in argument:
            yield from _refs(item)


@dataclass(slots=True)
class Graph:
    """Nodes in execution order, with the values they read and write."""

    values: dict[int, Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    """Input name → value id. Parameters and buffers of a module are inputs."""
    outputs: list[tuple[str, int]] = field(default_factory=list)
    """(output name, value id) in order. Inputs that the program mutated are outputs named ``input:NAME``."""
    constants: dict[int, torch.Tensor] = field(default_factory=dict)
    """Values made inside the program from nothing but constants, where their contents are known."""
    known: dict[int, torch.Tensor] = field(default_factory=dict)
    """Shadow values: real contents of small tensors computed from known inputs (indices, lengths, masks)."""
