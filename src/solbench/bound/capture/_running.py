"""The program run as it is, for comparison with its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_map

from solbench.bound._programs import Call, Program
from solbench.bound.capture._capture import DEFAULT_LIMIT_BYTES, DEFAULT_SEED
from solbench.bound.capture._environment import watched
from solbench.bound.capture._outputs import named_outputs
from solbench.bound.capture._preparation import prepare


@dataclass(frozen=True, slots=True)
class Run:
    """One real execution of a program."""

    inputs: dict[str, torch.Tensor]
    """Before the call, by the names of ``Graph.inputs``."""
    outputs: list[tuple[str, torch.Tensor]]
    """Results by the names of ``Graph.outputs``, then every input as ``input:NAME`` after the call."""


def run_program(
    program: Program, seed: int = DEFAULT_SEED, *, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Run:
    """Run a program for real, on the CPU; takes memory for all of it.

    With the default seed the arguments have the contents that ``capture`` saw. A module is built anew, so
    that its parameters only have the same distribution.
    """
    prepared = prepare(program, seed, limit_bytes)
    made: dict[int, torch.Tensor] = {}

    def real(item: Any) -> Any:
        if not isinstance(item, torch.Tensor):
            return item
        if id(item) not in made:
            copy = prepared.contents(item).detach().clone(memory_format=torch.preserve_format)
            made[id(item)] = copy.requires_grad_(item.requires_grad)
        return made[id(item)]

    args, kwargs = tree_map(real, (prepared.call.args, dict(prepared.call.kwargs)))
    if not isinstance(prepared.call.function, torch.nn.Module):
        inputs = {name: real(tensor) for name, tensor in prepared.call.inputs.items()}
        return _run(program, Call(prepared.call.function, args, kwargs, inputs))
    inputs = {k: made[id(v)] for k, v in prepared.call.inputs.items() if id(v) in made}
    built = _real_call(program, seed)
    owned = {k: v for k, v in built.inputs.items() if k not in inputs}
    return _run(program, Call(built.function, args, kwargs, inputs | owned, built.attributes))


def _real_call(program: Program, seed: int) -> Call:
    with watched(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return program.load()(seed)


def _run(program: Program, call: Call) -> Run:
    given = dict(call.inputs) | dict(call.attributes)
    before = {name: tensor.detach().clone() for name, tensor in given.items()}
    with watched():
        result = call.function(*call.args, **call.kwargs)
    outputs = [
        (name, item.detach() if isinstance(item, torch.Tensor) else torch.tensor(item))
        for name, item in named_outputs(program, result)
        if isinstance(item, torch.Tensor | float)
    ]
    after = [(f"input:{name}", tensor.detach()) for name, tensor in call.inputs.items()]
    return Run(before, outputs + after)
