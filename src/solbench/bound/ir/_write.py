"""The lifted graph as a document that people read and programs read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from solbench.bound._demand import demand
from solbench.bound._lift import LiftedGraph, Step
from solbench.bound._lifted import Facts, Map, Operand, Reshape, einsum
from solbench.bound._prefixes import ask_tables
from solbench.bound._result import CaptureRung
from solbench.bound.graph import Node, Value
from solbench.bound.ir._arrays import Encoder
from solbench.bound.ir._names import axis_text, rank_name, value_name

FORMAT = 1


@dataclass(frozen=True, slots=True)
class LiftedProgram:
    """A lifted graph with where it comes from."""

    lifted: LiftedGraph
    program: str
    workload: str
    capture: CaptureRung


def document(program: LiftedProgram) -> dict[str, Any]:
    """Plain data in the order in which the file is read: inputs and outputs, values, then nodes."""
    lifted, encoder = program.lifted, Encoder()
    graph = lifted.graph
    ask_tables(lifted, demand(lifted))  # the document has what the numbers say, not the numbers
    made: dict[str, Any] = {
        "solbench_ir": FORMAT,
        "program": program.program,
        "workload": program.workload,
        "capture": program.capture,
        "inputs": {name: value_name(value) for name, value in graph.inputs.items()},
        "outputs": [{"name": name, "value": value_name(value)} for name, value in graph.outputs],
    }
    if lifted.decisions:
        made["decisions"] = [value_name(value) for value in lifted.decisions]
    for key, nodes in (("repeated", lifted.repeated), ("hidden_masks", lifted.removed_by_hidden)):
        if nodes:
            made[key] = [{"op": node.op, "line": node.location} for node in nodes]
    made["values"] = {value_name(v): _value(v, lifted, encoder) for v in _used(lifted)}
    positions = {id(node): position for position, node in enumerate(graph.nodes)}
    made["nodes"] = [_step(step, positions, lifted, encoder) for step in lifted.steps]
    return made


def _used(lifted: LiftedGraph) -> list[int]:
    """Every value that is named anywhere, in order of first mention."""
    used: dict[int, None] = dict.fromkeys(lifted.graph.inputs.values())
    for step in lifted.steps:
        item = step.lifted
        if isinstance(item, Reshape):
            used.update(dict.fromkeys((item.value, item.out)))
        else:
            used.update(dict.fromkeys(o.value for o in item.operands))
            used.update(dict.fromkeys(item.outs))
    used.update(dict.fromkeys(value for _, value in lifted.graph.outputs))
    used.update(dict.fromkeys(lifted.decisions))
    used.update(dict.fromkeys([lifted.resolve(value) for value in used]))
    return list(used)


def _value(number: int, lifted: LiftedGraph, encoder: Encoder) -> dict[str, Any]:
    value: Value = lifted.values[number]
    made: dict[str, Any] = {
        "shape": list(value.shape),
        "dtype": str(value.dtype).removeprefix("torch."),
        "stride": list(value.stride),
        "storage": value.storage,
    }
    if value.storage_offset:
        made["offset"] = value.storage_offset
    if lifted.resolve(number) != number:
        made["same_as"] = value_name(lifted.resolve(number))
    facts = lifted.facts.get(number)
    if facts is not None:
        made.update(_facts(facts, encoder))
    made.update(_flags(number, facts, lifted))
    return made


def _facts(facts: Facts, encoder: Encoder) -> dict[str, Any]:
    made: dict[str, Any] = {"precision": facts.precision}
    if any(rep is not None for rep in facts.same):
        made["equal_slices"] = [encoder.rep(rep) for rep in facts.same]
    if facts.pin is not None:
        made["constant"] = encoder.pin(facts.pin)
    if facts.scaled is not None:
        name, reps = facts.scaled
        made["scaled"] = {"precision": name, "equal_slices": [encoder.rep(rep) for rep in reps]}
    if facts.few:
        made["few"] = [{"dims": sorted(each.dims), "count": each.count} for each in facts.few]
    if facts.base is not None:
        made["version_of"] = value_name(facts.base)
    if facts.changed is not None:
        made["changed"] = encoder.region(facts.changed)
    return made


def _flags(number: int, facts: Facts | None, lifted: LiftedGraph) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if number in lifted.graph.constants:
        made["held_by_program"] = True
    elif lifted.content(number) is not None:
        made["known"] = True
    if facts is not None and facts.precision == "bit" and lifted.structure(number) is not None:
        made["selects"] = True
    answers = sorted(key[1:] for key in lifted.separable if key[0] == number)
    if answers:
        made["separable"] = [list(answer) for answer in answers]
    if number in lifted.opaque:
        op, location = lifted.opaque[number]
        made["without_rule"] = {"op": op, "line": location}
    return made


def _step(
    step: Step, positions: dict[int, int], lifted: LiftedGraph, encoder: Encoder
) -> dict[str, Any]:
    node, item = step.node, step.lifted
    made: dict[str, Any] = {"call": positions.get(id(node), -1), "op": node.op}
    if node.location:
        made["line"] = node.location
    if isinstance(item, Reshape):
        return {**made, "reshape": value_name(item.value), "to": value_name(item.out)}
    return {**made, **_map(item, node, encoder)}


def _map(item: Map, node: Node, encoder: Encoder) -> dict[str, Any]:
    kept = {a.rank for axes in item.out_axes for a in axes if hasattr(a, "rank")}
    reduced = any(r not in kept and n != 1 for r, n in enumerate(item.ranks))
    made: dict[str, Any] = {
        "einsum": einsum(item),
        "map": "multiply" if item.contracts else node.op.split(".")[1],
    }
    if reduced:
        made["reduce"] = "sum" if item.linear or item.contracts else node.op.split(".")[1]
    made["ranks"] = {rank_name(r): n for r, n in enumerate(item.ranks)}
    made["out"] = [
        {"value": value_name(out), "at": [axis_text(a, encoder) for a in axes]}
        for out, axes in zip(item.outs, item.out_axes, strict=True)
    ]
    made["in"] = [_operand(operand, encoder) for operand in item.operands]
    made.update(_traits(item, encoder))
    return made


def _operand(operand: Operand, encoder: Encoder) -> dict[str, Any]:
    made: dict[str, Any] = {
        "value": value_name(operand.value),
        "at": [axis_text(a, encoder) for a in operand.axes],
    }
    if operand.within is not None:
        made["within"] = encoder.box(operand.within)
    if operand.outside is not None:
        made["outside"] = encoder.box(operand.outside)
    return made


def _traits(item: Map, encoder: Encoder) -> dict[str, Any]:
    """What is not at its default."""
    made: dict[str, Any] = {}
    if item.contracts:
        made["contraction"] = True
    if item.linear:
        made["linear"] = True
    if item.flavour != "moved":
        made["precision_travels"] = item.flavour
    if item.coupled:
        made["whole_lines_along"] = [rank_name(r) for r in sorted(item.coupled)]
    if item.gate is not None:
        made["gated_by"] = item.gate
    if item.ops != 1:
        made["vector_ops"] = item.ops
    if item.updates is not None:
        made["updates"] = encoder.box(item.updates)
    return made
