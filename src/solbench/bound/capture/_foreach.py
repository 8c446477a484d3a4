"""Calls on lists of tensors, as optimisers make them: recorded as one call for each element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from solbench.bound.capture._operators import describe

if TYPE_CHECKING:
    from solbench.bound.capture._recorder import Recorder

PREFIX = "aten::_foreach_"
_OTHER_NAMES = {"norm": "linalg_vector_norm"}
_BY_NAME = {"value", "alpha", "dtype"}
"""Arguments that calls on single tensors take by name only."""


def for_each(
    recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[torch.Tensor] | None:
    """``_foreach_add_(xs, ys)`` as ``x.add_(y)`` for every pair; in-place calls return nothing."""
    own = func._schema.name.removeprefix(PREFIX)
    single = getattr(torch.ops.aten, _OTHER_NAMES.get(own, own))
    bound = describe(func).bind(args, kwargs)
    count = len(next(given for given in bound.values() if isinstance(given, list | tuple)))
    results = []
    with recorder:
        for number in range(count):
            positions, named = [], {}
            for name, given in bound.items():
                item = given[number] if _by_element(name, given) else given
                if name in _BY_NAME or (name == "scalars" and own.startswith("addc")):
                    named["value" if name == "scalars" else name] = item
                else:
                    positions.append(item)
            results.append(single(*positions, **{k: v for k, v in named.items() if v is not None}))
    return None if own.endswith("_") else results


def _by_element(name: str, given: Any) -> bool:
    """Whether every element of the list has its own; a tensor of numbers has one for each."""
    return isinstance(given, list | tuple) or (
        name == "scalars" and isinstance(given, torch.Tensor)
    )
