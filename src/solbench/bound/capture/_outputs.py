"""Names of what a program returned, and the program run as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from solbench.bound._programs import Program
from solbench.bound.capture._environment import watched
from solbench.errors import CaptureError


@dataclass(frozen=True, slots=True)
class Run:
    """One real execution of a program."""

    inputs: dict[str, torch.Tensor]
    """Before the call, by the names of ``Graph.inputs``."""
    outputs: list[tuple[str, torch.Tensor]]
    """Results by the names of ``Graph.outputs``, then every input as ``input:NAME`` after the call."""


def run_program(program: Program, seed: int = 0) -> Run:
    """Run a program for real, on the CPU, with inputs made for ``seed``; takes memory for all of them."""
    with watched():
        make = program.load()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            call = make(seed)
            inputs = {name: tensor.detach().clone() for name, tensor in call.inputs.items()}
            result = call.function(*call.args, **call.kwargs)
    outputs = [
        (name, item.detach() if isinstance(item, torch.Tensor) else torch.tensor(item))
        for name, item in named_outputs(program, result)
        if isinstance(item, torch.Tensor | float)
    ]
    after = [(f"input:{name}", tensor.detach()) for name, tensor in call.inputs.items()]
    return Run(inputs, outputs + after)


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
