"""What a reference returned, as tensors by output name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from solbench.errors import ReferenceFailed
from solbench.spec._dtypes import torch_dtype
from solbench.spec._problem import Problem
from solbench.spec._workload import Workload


def normalise_outputs(
    problem: Problem, returned: Any, workload: Workload
) -> dict[str, torch.Tensor]:
    """Outputs by name, in declared order.

    ``returned`` is one tensor, a tuple or list in order, a dict by name (further keys are ignored),
    or a scalar. A scalar becomes a 0-D tensor of the declared dtype. Shapes and dtypes of tensors
    are *not* compared with the definition: officially the reference's own count.
    """
    where = f"the reference of {problem.name} (workload {workload.uuid})"
    values = _by_name(tuple(problem.definition.outputs), returned, where)
    return {
        name: _tensor(value, problem.definition.outputs[name].dtype, f"{where}: output '{name}'")
        for name, value in values.items()
    }


def _by_name(names: tuple[str, ...], returned: Any, where: str) -> dict[str, Any]:
    if isinstance(returned, Mapping):
        missing = [name for name in names if name not in returned]
        if missing:
            raise ReferenceFailed(
                f"{where} returned a dict without {', '.join(missing)}; it has "
                f"{', '.join(map(str, returned)) or 'no keys'}"
            )
        return {name: returned[name] for name in names}
    values = returned if isinstance(returned, tuple | list) else (returned,)
    if len(values) != len(names):
        raise ReferenceFailed(
            f"{where} returned {_count(returned)}, but {len(names)} outputs are declared: "
            f"{', '.join(names)}"
        )
    return dict(zip(names, values, strict=True))


def _count(returned: Any) -> str:
    if isinstance(returned, tuple | list):
        return f"{len(returned)} values"
    return f"one {type(returned).__name__}"


def _tensor(value: Any, dtype: str, where: str) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, bool | int | float):
        return torch.tensor(value, dtype=torch_dtype(dtype))
    raise ReferenceFailed(f"{where} is {type(value).__name__}, not a tensor or a number")
