"""Names of what a program returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solbench.bound._programs import Program
from solbench.errors import CaptureError


def named_outputs(program: Program, result: Any) -> list[tuple[str, Any]]:
    """Declared names if there are as many results, else ``output`` with dotted positions and keys."""
    names = program.output_names
    if isinstance(result, Mapping) and program.dict_outputs:
        missing = [name for name in names if name not in result]
        if missing:
            raise CaptureError(f"returned a dict without {', '.join(missing)}")
        return [(name, result[name]) for name in names]
    leaves = _flattened("output", result)
    if len(leaves) == len(names):
        return [(name, leaf) for name, (_, leaf) in zip(names, leaves, strict=True)]
    return leaves


def _flattened(name: str, item: Any) -> list[tuple[str, Any]]:
    if isinstance(item, Mapping):
        parts = [(f"{name}.{key}", part) for key, part in item.items()]
    elif isinstance(item, list | tuple):
        parts = [(f"{name}.{position}", part) for position, part in enumerate(item)]
    elif hasattr(item, "__dataclass_fields__"):
        parts = [(f"{name}.{key}", getattr(item, key)) for key in item.__dataclass_fields__]
    else:
        return [(name, item)]
    return [leaf for part_name, part in parts for leaf in _flattened(part_name, part)]
