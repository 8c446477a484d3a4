"""What the recorder must know about an overload, read once from its schema and tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

_FILLS = frozenset(
    {
        "aten::zeros", "aten::ones", "aten::full",
        "aten::zeros_like", "aten::ones_like", "aten::full_like",
        "aten::new_zeros", "aten::new_ones", "aten::new_full",
    }
)  # fmt: skip
_OVERWRITES = frozenset({"aten::fill_", "aten::zero_", "aten::copy_"})
_UNINITIALISED = frozenset(
    {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty",
     "aten::new_empty_strided", "aten::empty_permuted"}
)  # fmt: skip
# Tagged for boolean masks only, which are turned into positions before.
_SHAPED_BY_OPERANDS = frozenset({"aten::index", "aten::_unsafe_index"})


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload."""

    overload: torch._ops.OpOverload
    name: str
    """As in ``Node.op``."""
    parameters: tuple[tuple[str, Any], ...]
    """(name, default or None) in schema order."""
    random: bool
    """Draws random numbers, or leaves memory uninitialised."""
    asks_for_values: bool
    """Its output's shape, or a Python number, depends on the contents of its operands."""
    changes_view: bool
    """In place, but changes only the geometry (``transpose_``, ``unsqueeze_``)."""
    fills: bool
    """Depends on the shape of its tensor operand at most, not on the contents."""
    overwrites: bool
    """In place, and ignores what was there."""
    composite: bool
    """Made of other operations; arrives whole only in inference mode."""

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name, defaults filled in, in schema order."""
        bound = {}
        given = len(args)
        for position, (name, default) in enumerate(self.parameters):
            if position < given:
                bound[name] = args[position]
            else:
                bound[name] = kwargs.get(name, default)
        return bound


@lru_cache(maxsize=8192)
def describe(overload: torch._ops.OpOverload) -> Operator:
    """Facts about an overload."""
    schema = overload._schema
    base = schema.name
    tags = overload.tags
    return Operator(
        overload=overload,
        name=f"{overload.namespace}.{base.split('::')[1]}.{overload._overloadname}",
        parameters=tuple(
            (argument.name, argument.default_value if argument.has_default_value() else None)
            for argument in schema.arguments
        ),
        random=torch.Tag.nondeterministic_seeded in tags or base in _UNINITIALISED,
        asks_for_values=base not in _SHAPED_BY_OPERANDS
        and (torch.Tag.data_dependent_output in tags or torch.Tag.dynamic_output_shape in tags),
        changes_view=torch.Tag.inplace_view in tags and base.endswith("_"),
        fills=base in _FILLS,
        overwrites=base in _OVERWRITES,
        composite=overload.has_kernel_for_dispatch_key(
            torch._C.DispatchKey.CompositeImplicitAutograd
        ),
    )


def out_of_place(operator: Operator) -> torch._ops.OpOverload:
    """The functional overload behind ``transpose_`` and its like."""
    name = operator.overload._schema.name.split("::")[1].rstrip("_")
    packet = getattr(torch.ops.aten, name)
    overload = operator.overload._overloadname
    # ``transpose_`` has one overload, its functional form one by number and one by name.
    found = getattr(packet, overload if overload in packet.overloads() else "int")
    assert isinstance(found, torch._ops.OpOverload)
    return found
