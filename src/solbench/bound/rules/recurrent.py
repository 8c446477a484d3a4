"""Recurrent layers kept whole by the capture: unrolled here into their products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from solbench.bound import _access
from solbench.bound._access import Along
from solbench.bound._lifted import Lifted, Map, Operand
from solbench.bound._region import Box
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, MissingRule, rule

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


@dataclass(slots=True)
class _Layer:
    """Parameters of one direction of one layer."""

    input_weight: int
    hidden_weight: int
    biases: tuple[int, ...]
    projection: int | None


@rule("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input")
def recurrent(call: Call) -> Iterable[Lifted]:
    """Outputs: the sequence of the last layer, and the last state of every layer and direction."""
    kind = call.node.op.split(".")[1]
    if float(call.args["dropout"]) > 0 and call.args["train"]:
        raise MissingRule("recurrent layer with dropout")
    directions = 2 if call.args["bidirectional"] else 1
    states = _list(call.args["hx"])
    layers = _layers(call, kind, directions)
    first = bool(call.args["batch_first"])
    source = call.id("input")
    finals: list[list[int]] = [[] for _ in states]
    for layer in range(int(call.args["num_layers"])):
        outs = []
        for direction in range(directions):
            index = layer * directions + direction
            run = _Run(call, kind, layers[index], first, direction == 1)
            start = [(call.id(s), index) for s in states]
            yield from run.nodes(source, start)
            outs.append(run.sequence)
            for place, final in enumerate(run.finals):
                finals[place].append(final)
        if directions == 2:
            source, node = _joined(call, outs)
            yield node
        else:
            source = outs[0]
    yield call.pointwise(source, flavour="moved")
    for place, out in enumerate(call.outputs[1 : 1 + len(states)]):
        yield _stacked(call, out, finals[place])


def _list(argument: object) -> Sequence[Ref]:
    if isinstance(argument, Ref):
        return [argument]
    assert isinstance(argument, tuple | list)
    return [a for a in argument if isinstance(a, Ref)]


def _layers(call: Call, kind: str, directions: int) -> list[_Layer]:
    params = [call.id(p) for p in _list(call.args["params"])]
    count = int(call.args["num_layers"]) * directions
    each = len(params) // count
    biases = 2 if call.args["has_biases"] else 0
    result = []
    for index in range(count):
        own = params[index * each : (index + 1) * each]
        projection = own[2 + biases] if each > 2 + biases else None
        result.append(_Layer(own[0], own[1], tuple(own[2 : 2 + biases]), projection))
    return result


@dataclass(slots=True)
class _Run:
    """One direction of one layer over the whole sequence."""

    call: Call
    kind: str
    layer: _Layer
    batch_first: bool
    backwards: bool
    sequence: int = -1
    finals: tuple[int, ...] = ()

    def nodes(self, source: int, start: Sequence[tuple[int, int]]) -> Iterable[Lifted]:
        call, value = self.call, self.call.values[source]
        if len(value.shape) != 3:
            raise MissingRule("recurrent layer without a batch dimension")
        time_dim = 1 if self.batch_first else 0
        batch, steps = value.shape[1 - time_dim], value.shape[time_dim]
        dtype = value.dtype
        gates = call.values[self.layer.input_weight].shape[0]
        width = call.values[self.layer.hidden_weight].shape[1]
        cells = gates // GATES[self.kind]
        projected = call.temporary((*value.shape[:2], gates), dtype)
        yield call.einsum("abk,gk->abg", source, self.layer.input_weight, out=projected)
        state = []
        for tensor, index in start:
            size = call.values[tensor].shape[-1]
            own = call.temporary((batch, size), dtype)
            yield call.moved(
                (batch, size), (_access.Fixed(index), Along(0), Along(1)), tensor, out=own
            )
            state.append(own)
        hidden, cell = state[0], state[-1]
        shape = (batch, width)
        order = range(steps - 1, -1, -1) if self.backwards else range(steps)
        outs: dict[int, int] = {}
        for step in order:
            product = call.temporary((batch, gates), dtype)
            yield call.einsum("bk,gk->bg", hidden, self.layer.hidden_weight, out=product)
            previous = hidden
            raw, hidden, cell_next = (
                call.temporary((batch, cells), dtype),
                call.temporary(shape, dtype),
                call.temporary((batch, cells), dtype),
            )
            target = raw if self.layer.projection is not None else hidden
            yield self._cell(projected, step, time_dim, product, cell, previous, target, cells)
            if self.kind == "lstm":
                yield self._cell(
                    projected, step, time_dim, product, cell, previous, cell_next, cells
                )
                cell = cell_next
            if self.layer.projection is not None:
                yield call.einsum("bk,gk->bg", raw, self.layer.projection, out=hidden)
            outs[step] = hidden
        self.finals = (hidden, cell) if self.kind == "lstm" else (hidden,)
        self.sequence = call.temporary((*value.shape[:2], width), dtype)
        yield self._sequence([outs[s] for s in range(steps)], time_dim)

    def _cell(
        self, projected: int, step: int, time_dim: int, product: int, cell: int, hidden: int,
        out: int, cells: int,
    ) -> Map:  # fmt: skip
        """Gates of one step: each output unit reads its own row of every gate."""
        call = self.call
        batch = call.values[out].shape[0]
        ranks = (batch, cells)
        operands: list[Operand] = []
        for gate in range(GATES[self.kind]):
            unit = Along(1, gate * cells)
            at: tuple[_access.Axis, ...] = (_access.Fixed(step), Along(0), unit)
            if time_dim == 1:
                at = (Along(0), _access.Fixed(step), unit)
            operands.append(Operand(projected, at))
            operands.append(Operand(product, (Along(0), unit)))
            operands += [Operand(b, (unit,)) for b in self.layer.biases]
        if self.kind == "lstm":
            operands.append(Operand(cell, (Along(0), Along(1))))
        if self.kind == "gru":
            operands.append(Operand(hidden, (Along(0), Along(1))))
        return Map(
            (out,), (_access.identity(2),), ranks, tuple(operands), flavour="computed", ops=10
        )

    def _sequence(self, steps: Sequence[int], time_dim: int) -> Map:

        ranks = self.call.values[self.sequence].shape
        axes = (Along(1 - time_dim), Along(2))
        operands = tuple(
            Operand(
                value,
                axes,
                within=Box(
                    tuple(
                        range(s, s + 1) if d == time_dim else range(n) for d, n in enumerate(ranks)
                    )
                ),
            )
            for s, value in enumerate(steps)
        )
        return Map((self.sequence,), (_access.identity(3),), ranks, operands, ops=0)


def _joined(call: Call, outs: Sequence[int]) -> tuple[int, Map]:
    """Both directions side by side along the features."""

    shape = call.values[outs[0]].shape
    width = shape[2]
    ranks = (*shape[:2], 2 * width)
    out = call.temporary(ranks, call.values[outs[0]].dtype)
    operands = tuple(
        Operand(
            value,
            (Along(0), Along(1), Along(2, -i * width)),
            within=Box((range(ranks[0]), range(ranks[1]), range(i * width, (i + 1) * width))),
        )
        for i, value in enumerate(outs)
    )
    return out, Map((out,), (_access.identity(3),), ranks, operands, ops=0)


def _stacked(call: Call, out: int, finals: Sequence[int]) -> Map:

    ranks = call.values[out].shape
    operands = tuple(
        Operand(
            value,
            (Along(1), Along(2)),
            within=Box((range(i, i + 1), range(ranks[1]), range(ranks[2]))),
        )
        for i, value in enumerate(finals)
    )
    return Map((out,), (_access.identity(3),), ranks, operands, ops=0)
