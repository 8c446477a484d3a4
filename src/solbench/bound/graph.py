"""The captured program: a functional graph of ATen calls over immutable values.

This is the seam between capture (which writes it) and analysis (which reads it). Capture has already
removed mutation: an in-place call appears as a call whose outputs are the *new* versions of what it wrote,
and a write through a view appears as ``*_scatter`` (or a reshaped or permuted copy) into its base. Views
that do not change the geometry (``detach``, ``alias``, a full slice) leave no node: both sides are one value.
Nothing here knows about devices or cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

ABSENT = -1
"""In ``Node.outputs``: the call returned no tensor there, as with an output mask."""


@dataclass(frozen=True, slots=True)
class Value:
    """One immutable tensor of the program."""

    id: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    stride: tuple[int, ...]
    storage: int
    """Identity of the memory behind it; a view, a new version of a mutated tensor, and inputs that
    share a storage share this number."""
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
    """Qualified overload, such as ``aten.mm.default``. An in-place or ``out=`` call keeps its name
    (``aten.add_.Tensor``, ``aten.add.out``): its arguments are the old versions."""
    args: dict[str, Any]
    """Argument name → constant, ``Ref``, or a tuple that holds Refs and constants. A random generator
    is left out (``None``)."""
    outputs: tuple[int, ...]
    """Value ids; first the results (lists flattened, ``ABSENT`` where there is none), then new versions of
    mutated arguments in schema order. A result that *is* a mutated argument is listed once, as the latter."""
    location: str
    """``line 12: y = x @ w`` of the reference; empty if unknown."""

    def results(self) -> Iterator[int]:
        """Ids of all values written, without ``ABSENT``."""
        return (output for output in self.outputs if output != ABSENT)

    def refs(self) -> Iterator[int]:
        """Ids of all values read, in argument order, repeats included."""
        for argument in self.args.values():
            yield from refs_in(argument)


def refs_in(argument: Any) -> Iterator[int]:
    """Ids of the values in one argument."""
    if isinstance(argument, Ref):
        yield argument.id
    elif isinstance(argument, tuple | list):
        for item in argument:
            yield from refs_in(item)


@dataclass(slots=True)
class Graph:
    """Nodes in execution order, with the values they read and write."""

    values: dict[int, Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    """Input name → value id. Parameters and buffers of a module are inputs. Scalars are baked in."""
    outputs: list[tuple[str, int]] = field(default_factory=list)
    """(output name, value id) in order. Inputs that the program mutated are outputs named ``input:NAME``."""
    constants: dict[int, torch.Tensor] = field(default_factory=dict)
    """Tensors that the program holds itself (literals, globals, tables made when a module is built): they
    have no producing node, and their contents are here."""
    known: dict[int, torch.Tensor] = field(default_factory=dict)
    """Shadow values: real contents of small tensors computed from constants and known inputs (indices,
    lengths, masks); never from the contents of floating-point inputs, except at the ``real`` rung, where
    integers and booleans that the program asked for are here as well. May be an expanded (stride 0) tensor."""
    hidden: set[int] = field(default_factory=set)
    """Values that follow from constants and known inputs as those of ``known`` do, but are too large to keep:
    a mask among them may say anything, so the bound may count nothing that it might remove."""
