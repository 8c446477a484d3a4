"""The reference as a solution, so that it is built, jailed and timed like any other."""

from __future__ import annotations

from solbench.spec import Problem, Solution, SolutionSpec, SourceFile

REFERENCE_AUTHOR = "solbench"

_ENTRY = '''\
"""Calls the reference and hands over its outputs as a tuple of tensors in declared order."""

import torch

import {module}

NAMES = {names!r}
DTYPES = {dtypes!r}


def _as_tensor(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.detach()
    return torch.tensor(value, dtype=getattr(torch, dtype))


def run(*inputs):
    returned = {module}.run(*inputs)
    if isinstance(returned, dict):
        returned = [returned[name] for name in NAMES]
    elif not isinstance(returned, (tuple, list)):
        returned = [returned]
    return tuple(_as_tensor(value, dtype) for value, dtype in zip(returned, DTYPES))
'''

_MODULE = "reference_program"


def reference_solution(problem: Problem) -> Solution:
    """The problem's reference as a value-returning PyTorch solution."""
    outputs = problem.definition.outputs
    entry = _ENTRY.format(
        module=_MODULE,
        names=tuple(outputs),
        dtypes=tuple(output.dtype for output in outputs.values()),
    )
    return Solution(
        name=f"{problem.definition.name} (reference)",
        definition=problem.definition.name,
        author=REFERENCE_AUTHOR,
        description="The problem's own reference program.",
        spec=SolutionSpec(
            languages=("pytorch",),
            target_hardware=("LOCAL",),
            entry_point="main.py::run",
            destination_passing_style=False,
        ),
        sources=(
            SourceFile(path="main.py", content=entry),
            SourceFile(path=f"{_MODULE}.py", content=problem.definition.reference),
        ),
    )
