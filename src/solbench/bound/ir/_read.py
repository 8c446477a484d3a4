"""A document back into a lifted graph, on which the analysis gives the same demand."""

from __future__ import annotations

from typing import Any, cast, get_args

import torch

from solbench.bound._lift import LiftedGraph, Step
from solbench.bound._lifted import Facts, Few, Flavour, Map, Operand, Reshape
from solbench.bound._result import CaptureRung
from solbench.bound.graph import Graph, Node, Value
from solbench.bound.ir._arrays import read_box, read_pin, read_region, read_rep
from solbench.bound.ir._names import rank_number, read_axis, value_id
from solbench.bound.ir._write import FORMAT, LiftedProgram
from solbench.errors import InputError

_PRESENT = torch.zeros(())
"""Stands for contents that the analysis only asks the presence of."""


def lifted_program(data: Any) -> LiftedProgram:
    """Raises ``InputError`` that names the node or value at fault."""
    if not isinstance(data, dict) or data.get("solbench_ir") != FORMAT:
        raise InputError(
            f"is no intermediate representation of format {FORMAT}",
            key="solbench_ir",
            remedy="Write one with 'solbench ir export'.",
        )
    program, workload = str(data.get("program", "")), str(data.get("workload", ""))
    return LiftedProgram(_Reader(data).read(), program, workload, _rung(data.get("capture")))


def _rung(given: Any) -> CaptureRung:
    for rung in get_args(CaptureRung):
        if rung == given:
            return cast(CaptureRung, rung)
    raise InputError(f"'{given}' is no rung", key="capture", remedy="fake, values or real.")


class _Reader:
    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        self._graph = Graph()
        self._lifted = LiftedGraph(self._graph, {})

    def read(self) -> LiftedGraph:
        for name, entry in self._part("values", dict).items():
            self._at(f"values.{name}", self._value, name, entry)
        for number, entry in enumerate(self._part("nodes", list)):
            self._at(f"nodes[{number}]", self._node, entry)
        self._at("inputs", self._ends)
        return self._lifted

    def _part(self, key: str, kind: type) -> Any:
        found = self._data.get(key)
        if not isinstance(found, kind):
            raise InputError(f"a {kind.__name__} is needed", key=key)
        return found

    def _at(self, place: str, read: Any, *arguments: Any) -> None:
        """Whatever is wrong with an entry, say which one it is."""
        try:
            read(*arguments)
        except InputError as error:
            raise InputError(
                error.what, key=f"{place}.{error.key or ''}".rstrip("."), remedy=error.remedy
            ) from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            what = f"missing {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(what, key=place) from None

    def _value(self, name: str, entry: dict[str, Any]) -> None:
        number = value_id(name)
        dtype = getattr(torch, entry["dtype"], None)
        if not isinstance(dtype, torch.dtype):
            raise InputError(f"unknown dtype '{entry['dtype']}'", key="dtype")
        shape, stride = (tuple(int(n) for n in entry[key]) for key in ("shape", "stride"))
        offset = int(entry.get("offset", 0))
        value = Value(number, shape, dtype, stride, int(entry["storage"]), offset)
        self._lifted.values[number] = self._graph.values[number] = value
        if "same_as" in entry:
            self._lifted.stands_for[number] = value_id(entry["same_as"])
        if "precision" in entry:
            self._lifted.facts[number] = _facts(entry, len(shape))
        self._flags(number, entry)

    def _flags(self, number: int, entry: dict[str, Any]) -> None:
        if entry.get("held_by_program"):
            self._graph.constants[number] = _PRESENT
        elif entry.get("known") or entry.get("selects"):
            self._graph.known[number] = _PRESENT
        if not entry.get("selects"):
            self._lifted.data.add(number)
        for row, column, question, mask in entry.get("separable", ()):
            answer = number, int(row), int(column), str(question), int(mask)
            self._lifted.separable.add(answer)
        if "without_rule" in entry:
            unknown = entry["without_rule"]
            self._lifted.opaque[number] = (str(unknown["op"]), str(unknown["line"]))

    def _node(self, entry: dict[str, Any]) -> None:
        node = self._call(int(entry["call"]), str(entry["op"]), str(entry.get("line", "")))
        item: Map | Reshape
        if "reshape" in entry:
            item = Reshape(value_id(entry["to"]), value_id(entry["reshape"]))
            self._lifted.maker[item.out] = item
        else:
            item = _map(entry)
            self._lifted.maker.update(dict.fromkeys(item.outs, item))
        self._lifted.steps.append(Step(item, node))

    def _call(self, position: int, op: str, location: str) -> Node:
        """The call of this position: a name and a line, without arguments."""
        nodes = self._graph.nodes
        while len(nodes) <= position:
            nodes.append(Node("", {}, (), ""))
        if not nodes[position].op:
            nodes[position] = Node(op, {}, (), location)
        return nodes[position]

    def _ends(self) -> None:
        graph, lifted, data = self._graph, self._lifted, self._data
        graph.inputs.update({n: value_id(v) for n, v in data.get("inputs", {}).items()})
        graph.outputs += [(str(each["name"]), value_id(each["value"])) for each in data["outputs"]]
        lifted.decisions += [value_id(each) for each in data.get("decisions", ())]
        lifted.repeated += [_named(each) for each in data.get("repeated", ())]
        lifted.removed_by_hidden += [_named(each) for each in data.get("hidden_masks", ())]
        for value in (*graph.inputs.values(), *(v for _, v in graph.outputs)):
            if value not in lifted.values:
                raise InputError(f"value {value} is not declared", key="values")


def _named(entry: dict[str, Any]) -> Node:
    return Node(str(entry["op"]), {}, (), str(entry["line"]))


def _facts(entry: dict[str, Any], rank: int) -> Facts:
    same = entry.get("equal_slices") or [None] * rank
    scaled = entry.get("scaled")
    return Facts(
        str(entry["precision"]),
        tuple(read_rep(each) for each in same),
        read_pin(entry["constant"]) if "constant" in entry else None,
        (str(scaled["precision"]), tuple(read_rep(each) for each in scaled["equal_slices"]))
        if scaled
        else None,
        value_id(entry["version_of"]) if "version_of" in entry else None,
        read_region(entry["changed"]) if "changed" in entry else None,
        few=tuple(
            Few(frozenset(map(int, f["dims"])), int(f["count"])) for f in entry.get("few", ())
        ),
    )


def _map(entry: dict[str, Any]) -> Map:
    flavour = entry.get("precision_travels", "moved")
    if flavour not in get_args(Flavour):
        known = ", ".join(get_args(Flavour))
        raise InputError(f"'{flavour}'", key="precision_travels", remedy=f"One of {known}.")
    outs = entry["out"]
    ranks = [0] * len(entry["ranks"])
    for name, size in entry["ranks"].items():
        ranks[rank_number(name)] = int(size)
    return Map(
        tuple(value_id(each["value"]) for each in outs),
        tuple(tuple(read_axis(a) for a in each["at"]) for each in outs),
        tuple(ranks),
        tuple(_operand(each) for each in entry["in"]),
        flavour=flavour,
        contracts=bool(entry.get("contraction", False)),
        coupled=frozenset(rank_number(r) for r in entry.get("whole_lines_along", ())),
        linear=bool(entry.get("linear", False)),
        gate=entry.get("gated_by"),
        ops=int(entry.get("vector_ops", 1)),
        updates=read_box(entry["updates"]) if "updates" in entry else None,
    )


def _operand(entry: dict[str, Any]) -> Operand:
    return Operand(
        value_id(entry["value"]),
        tuple(read_axis(a) for a in entry["at"]),
        within=read_box(entry["within"]) if "within" in entry else None,
        outside=read_box(entry["outside"]) if "outside" in entry else None,
    )
