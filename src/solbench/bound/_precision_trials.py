"""Trials of lower precision: a small instance replayed with the operands of some products rounded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import torch

from solbench.bound._precision_attention import OPS as ATTENTION_OPS
from solbench.bound._precision_attention import rounded_attention
from solbench.bound._precision_formats import round_to
from solbench.bound._precision_gates import Gate
from solbench.bound._precision_instance import Instance
from solbench.bound._precision_result import Trial
from solbench.bound._precision_sites import Dims, Site, makers_of, site_of
from solbench.bound._replay import Change, Instead, replay
from solbench.bound.capture import run_program
from solbench.bound.graph import Graph
from solbench.spec import make_inputs

SEEDS = (0, 1, 2)
CLEARLY_OFF = 1.5
"""Above this error over tolerance one draw is enough; below it all draws are judged."""
_DEEPEST_SUM = 3
"""Calls between a sum of products and the products."""

Tensors = dict[str, torch.Tensor]
Kinds = Mapping[int, str]
"""Position of a call → kind that the operands of its product are rounded to."""


class CannotTry(Exception):
    """There is no small instance that runs; the message says why."""


@dataclass(slots=True)
class Draw:
    """One draw of the inputs, with the right answers."""

    inputs: Tensors
    references: Tensors
    oracle: Tensors
    wide: Tensors
    """Inputs as a candidate's replay takes them: in float64 if the gate measures against that."""
    plain: Tensors | None = None
    """What a candidate gives that lowers nothing; made when first asked for."""


@dataclass(slots=True)
class Trials:
    """A small instance ready to be tried."""

    instance: Instance
    graph: Graph
    gate: Gate
    names: frozenset[str]
    """Outputs that are judged."""
    _draws: dict[int, Draw] = field(default_factory=dict)
    _sites: dict[int, Site] = field(default_factory=dict)
    _makers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._makers = makers_of(self.graph)
        for position in range(len(self.graph.nodes)):
            found = site_of(self.graph, position, self._makers)
            if found is not None:
                self._sites[position] = found

    def sites(self, position: int) -> tuple[Site, ...]:
        """The products of a call: its own, else those that it sums up; none if they cannot be rounded."""
        if position in self._sites:
            return (self._sites[position],)
        return tuple(self._summed(position, _DEEPEST_SUM))

    def _summed(self, position: int, depth: int) -> Iterator[Site]:
        for value in self.graph.nodes[position].refs() if depth else ():
            made = self._makers.get(value)
            if made in self._sites:
                yield self._sites[made]
            elif made is not None:
                yield from self._summed(made, depth - 1)

    def unseen(self, lines: Collection[str]) -> str:
        """The first of these lines on which nothing can be rounded; empty if there is none."""
        calls: dict[str, list[int]] = {line: [] for line in lines}
        for position, node in enumerate(self.graph.nodes):
            if node.location in calls:
                calls[node.location].append(position)
        return next((line for line in lines if not any(map(self.sites, calls[line]))), "")

    def run(self, kinds: Kinds, label: str) -> Trial:
        """Round and judge. A kind that passes on any draw counts: when judged it may be drawn."""
        changed, instead = self._changes(kinds), self._instead(kinds)
        errors: list[float] = []
        shares: list[float] = []
        for seed in SEEDS:
            error, share = self._judged(seed, changed, instead)
            errors.append(error)
            shares.append(share)
            if error > CLEARLY_OFF:
                break
        passed = min(errors) <= 1.0
        return Trial(label, passed, max(errors), len(errors), 1.0 if passed else max(shares))

    def _changes(self, kinds: Kinds) -> dict[int, dict[int, Change]]:
        """What each product reads: 16-bit operands in float32, as units that sum in float32 do, and rounded."""
        result: dict[int, dict[int, Change]] = {}
        for site in self._sites.values():
            node = self.graph.nodes[site.position]
            result[site.position] = dict.fromkeys(node.refs(), _widened)
        for position, kind in kinds.items():
            for site in self.sites(position):
                changes = {value: partial(_rounded, kind, dims) for value, dims in site.operands}
                result[site.position].update(changes)
        return result

    def _instead(self, kinds: Kinds) -> dict[int, Instead]:
        """Attention that is kept whole: its softmax weights are an operand too."""
        result = {}
        for position, kind in kinds.items():
            node = self.graph.nodes[position]
            name = node.op.split(".")[1]
            if name in ATTENTION_OPS and not node.args.get("dropout_p"):
                result[position] = rounded_attention(kind, name)
        return result

    def _judged(
        self, seed: int, changed: dict[int, dict[int, Change]], instead: Mapping[int, Instead]
    ) -> tuple[float, float]:
        """Error over tolerance, and the share of the work that may be done so."""
        draw = self.draw(seed)
        outputs = self._answered(draw, changed, instead)
        given = (outputs, draw.references, draw.oracle)
        error = self.gate.excess(*given)
        if error <= 1:
            return error, 1.0
        if draw.plain is None:
            draw.plain = self._answered(draw, self._changes({}), {})
        return error, self.gate.share(*given, draw.plain)

    def _answered(
        self, draw: Draw, changed: dict[int, dict[int, Change]], instead: Mapping[int, Instead]
    ) -> Tensors:
        """What a kernel gives that computes as exactly as it may otherwise."""
        found = self._replayed(draw.wide, self.gate.against_float64, changed, instead)
        return {n: found[n].to(draw.references[n].dtype) for n in draw.references}

    def draw(self, seed: int) -> Draw:
        """Inputs of a seed. Integers stay those of the first one, which the graph was captured with."""
        if seed not in self._draws:
            inputs = self._inputs(seed)
            references = self._replayed(inputs, False, self._changes({}))
            exact = self.gate.against_float64
            oracle = self._replayed(inputs, True, {}) if exact else references
            wide = {n: _doubled(t) for n, t in inputs.items()} if exact else inputs
            self._draws[seed] = Draw(inputs, references, oracle, wide)
        return self._draws[seed]

    def _inputs(self, seed: int) -> Tensors:
        if seed == SEEDS[0]:
            return run_program(self.instance.program).inputs
        first = self.draw(SEEDS[0]).inputs
        made = make_inputs(self.instance.problem, self.instance.workload, seed)
        drawn = {n: t for n, t in made.items() if isinstance(t, torch.Tensor)}
        return {n: drawn[n] if t.dtype.is_floating_point else t for n, t in first.items()}

    def _replayed(
        self,
        inputs: Tensors,
        float64: bool,
        changed: Mapping[int, Mapping[int, Change]],
        instead: Mapping[int, Instead] | None = None,
    ) -> Tensors:
        found = replay(self.graph, inputs, float64=float64, changed=changed, instead=instead)
        return {name: tensor for name, tensor in found if name in self.names}


def _doubled(tensor: torch.Tensor) -> torch.Tensor:
    narrow = tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)
    return tensor.double() if narrow else tensor


def _widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def _rounded(kind: str, dims: Dims, tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.dtype.is_floating_point or tensor.dtype.itemsize == 1:
        return tensor
    inside = tuple(d for d in dims if -tensor.dim() <= d < tensor.dim())
    return round_to(kind, _widened(tensor), inside)
