"""Is what a rule said of some calls what the calls do? Data in, verdict out: no rule is run here.

A rule runs behind walls, on the calls of :mod:`_samples`, and hands back what it made as plain data. That is
interpreted here: contractions by their numbers, everything else by which output elements change with which
operand elements. Both directions count: an element that is read for nothing makes a bound too large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from solbench.bound._instances import Instance
from solbench.bound._interpret import TooLarge, reach
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Reshape
from solbench.bound._trial import Trial
from solbench.bound.graph import Graph
from solbench.bound.ir._read import lifted_program
from solbench.errors import SolBenchError

AMOUNTS = (1.75, -1.75, 100.0, -100.0)
"""By how much an element is changed: also the least of a line must be able to matter."""
PLACES = 6
"""Elements of each operand that are changed."""
_TOLERANCE = 1e-12


class Jail(Protocol):
    """Runs a rule's text behind walls."""

    def lift(self, text: str, calls: Sequence[Graph]) -> list[Any]:
        """For every call the document of its lifted graph (see ``solbench.bound.ir``), as plain data.

        Raises ``JailError`` if the rule fails, or a wall does not stand.
        """


@dataclass(frozen=True, slots=True)
class Verdict:
    """What trying a rule came to."""

    matched: bool
    tried: int
    reason: str = ""
    """Why it does not match."""


def verdict(text: str, samples: Sequence[Instance], jail: Jail) -> Verdict:
    """Run the rule behind walls on all samples, and compare what it made with what the calls give."""
    documents = jail.lift(text, [sample.graph for sample in samples])
    if len(documents) != len(samples):
        return Verdict(False, 0, "it did not answer for every call")
    for number, (sample, data) in enumerate(zip(samples, documents, strict=True)):
        try:
            problem = _problem(sample, data)
        except (
            SolBenchError,
            TooLarge,
            RuntimeError,
            LookupError,
            ValueError,
            TypeError,
            AssertionError,
        ) as error:
            # the data is a stranger's: whatever it breaks is its fault
            problem = f"what it made cannot be read: {type(error).__name__}: {error}"
        if problem:
            return Verdict(False, number + 1, f"{_named(sample)}: {problem}")
    return Verdict(True, len(samples))


def _named(sample: Instance) -> str:
    shapes = (str(list(tensor.shape)) for tensor in sample.contents.values())
    return f"{sample.graph.nodes[-1].op} on {', '.join(shapes)}"


def _problem(sample: Instance, data: Any) -> str:
    lifted = lifted_program(data).lifted
    if lifted.opaque:
        return "the rule does not cover these arguments"
    wrong = _other_tensors(sample, lifted)
    return wrong or Trial(sample, lifted).problem() or _idle_reads(sample, lifted)


def _other_tensors(sample: Instance, lifted: LiftedGraph) -> str:
    """Inputs, outputs and their sizes are those of the call, whatever the data says."""
    if lifted.graph.inputs != sample.graph.inputs or lifted.graph.outputs != sample.graph.outputs:
        return "it names other inputs or outputs than the call has"
    for value in (*sample.graph.inputs.values(), *(v for _, v in sample.graph.outputs)):
        mine, theirs = sample.graph.values[value], lifted.values.get(value)
        if theirs is None or (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
            return "it changes the form of an input or output"
    made = {o for s in lifted.steps for o in _outs(s.lifted)}
    missing = [v for _, v in sample.graph.outputs if lifted.resolve(v) not in made]
    given = set(sample.graph.inputs.values())
    return (
        "an output is not computed" if any(lifted.resolve(v) not in given for v in missing) else ""
    )


def _outs(item: Any) -> tuple[int, ...]:
    return (item.out,) if isinstance(item, Reshape) else tuple(item.outs)


def _idle_reads(sample: Instance, lifted: LiftedGraph) -> str:
    """Output elements that are said to read an element, and change with it under no amount."""
    shapes = {value: v.shape for value, v in lifted.values.items()}
    for leaf, content in sample.contents.items():
        if not content.is_floating_point() or content.numel() == 0:
            continue
        for place in _places(content):
            declared = _declared(lifted, leaf, place, shapes)
            changed = _changed(sample, leaf, place)
            for mark, real in zip(declared, changed, strict=True):
                if bool((mark & ~real).any()):
                    return "outputs read an element that never changes them"
                if bool((real & ~mark).any()):
                    return "outputs change with an element that they do not read"
    return ""


def _places(content: torch.Tensor) -> list[tuple[int, ...]]:
    step = max(1, content.numel() // PLACES)
    flat = range(0, content.numel(), step)
    return [
        tuple(int(i) for i in torch.unravel_index(torch.tensor(n), content.shape)) for n in flat
    ]


def _declared(
    lifted: LiftedGraph, leaf: int, place: tuple[int, ...], shapes: Mapping[int, tuple[int, ...]]
) -> list[torch.Tensor]:
    mark = torch.zeros(shapes[leaf], dtype=torch.bool)
    mark[place] = True
    marks = {lifted.resolve(leaf): mark}
    for step in lifted.steps:
        item = step.lifted
        if not isinstance(item, Reshape):
            marks.update(reach(item, marks, shapes))
        elif item.value in marks:
            marks[item.out] = marks[item.value].reshape(shapes[item.out])
    outputs = (lifted.resolve(value) for _, value in lifted.graph.outputs)
    return [marks.get(v, torch.zeros(shapes[v], dtype=torch.bool)) for v in outputs]


def _changed(sample: Instance, leaf: int, place: tuple[int, ...]) -> list[torch.Tensor]:
    content = sample.contents[leaf]
    result = [torch.zeros(t.shape, dtype=torch.bool) for t in sample.outputs]
    for amount in AMOUNTS:
        other = content.clone()
        other[place] = content[place] + amount
        for mark, before, after in zip(
            result, sample.outputs, sample.run({**sample.contents, leaf: other}), strict=True
        ):
            mark |= _differ(before, after)
    return result


def _differ(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    if not before.is_floating_point():
        return before != after
    left, right = before.double(), after.double()
    near = (left - right).abs() <= _TOLERANCE * (1 + left.abs())
    return (left != right) & ~near & ~(left.isnan() & right.isnan())
