"""A problem with one workload, and smaller versions of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from solbench.bound._analyse import analyse
from solbench.bound._programs import problem_program
from solbench.bound._result import Demand
from solbench.bound.capture import capture
from solbench.bound.challenge._count import Count, Excess, count_work, excess
from solbench.bound.challenge._rewrite import unread_parameters, without_parameters
from solbench.bound.graph import Graph
from solbench.errors import SolBenchError
from solbench.spec import (
    DTYPES,
    ConstAxis,
    Definition,
    ExprAxis,
    Problem,
    Workload,
    json_text,
    make_problem,
)

PROVISIONAL = {"shape": [], "dtype": "float32"}
"""Of the output of a rewritten program, until the graph says what it is."""
MOST_ELEMENTS = 1 << 14
"""Of all inputs together, where work is counted by running the program several times."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is shrunk."""

    definition: Definition
    workload: Workload

    @property
    def problem(self) -> Problem:
        return make_problem(self.definition, (self.workload,))

    def sizes(self) -> dict[str, int]:
        """Axes that can be set, with their sizes."""
        values = self.problem.axis_values(self.workload)
        free = [n for n, a in self.definition.axes.items() if not isinstance(a, ExprAxis)]
        return {name: values[name] for name in free}

    def resized(self, sizes: Mapping[str, int]) -> Case:
        """The same program at other sizes."""
        axes = {
            name: axis.model_copy(update={"value": sizes[name]})
            if isinstance(axis, ConstAxis) and name in sizes
            else axis
            for name, axis in self.definition.axes.items()
        }
        own = {n: v for n, v in sizes.items() if not isinstance(axes[n], ConstAxis)}
        kept = {n: v for n, v in self.workload.axes.items() if n not in sizes}
        return Case(
            self.definition.model_copy(update={"axes": axes}),
            self.workload.model_copy(update={"axes": {**kept, **own}}),
        )

    def rewritten(self, source: str) -> Case:
        """Another reference with one output; inputs that it does not read are gone."""
        unused = unread_parameters(source)
        inputs = {n: s for n, s in self.definition.inputs.items() if n not in unused}
        record = _record(self.definition)
        record["inputs"] = {n: record["inputs"][n] for n in inputs}
        record["outputs"] = {"output": PROVISIONAL}
        record["reference"] = without_parameters(source, unused)
        record.pop("custom_inputs_entrypoint", None)
        described = {n: d for n, d in self.workload.inputs.items() if n in inputs}
        return Case(_definition(record), self.workload.model_copy(update={"inputs": described}))


@dataclass(frozen=True, slots=True)
class Finding:
    """A case on which the bound asks for more than the program needs."""

    case: Case
    demand: Demand
    count: Count
    excess: Excess
    graph: Graph


Judge = Callable[[Case], Finding | None]


def judge_case(case: Case) -> Finding | None:
    """Derive the bound and count what is needed; ``None`` if they agree or the program does not run."""
    problem = case.problem
    try:
        elements = sum(_numel(problem, case.workload, name) for name in case.definition.inputs)
        if elements > MOST_ELEMENTS:
            return None
        program = problem_program(problem, case.workload)
        graph, rung = capture(program)
        demand = analyse(graph, rung)
        if not demand.complete or not graph.outputs:
            return None
        count = count_work(program, graph, demand)
    except (SolBenchError, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError):
        # a candidate is an arbitrary piece of a program: that it fails says nothing
        return None
    found = excess(demand, count)
    return None if found is None else Finding(case, demand, count, found, graph)


def _numel(problem: Problem, workload: Workload, name: str) -> int:
    total = 1
    for size in problem.input_shape(workload, name) or ():
        total *= size
    return total


def settled(finding: Finding) -> Case:
    """The case with its outputs' true shapes, and without axes that nothing has any more."""
    record = _record(finding.case.definition)
    values = [finding.graph.values[v] for _, v in finding.graph.outputs]
    if record["outputs"] == {"output": PROVISIONAL}:
        value = values[0]
        dtype = str(value.dtype).removeprefix("torch.")
        record["outputs"]["output"] = {
            "shape": [str(n) for n in value.shape],
            "dtype": dtype if dtype in DTYPES else "float32",
        }
    used = {axis for tensor in record["inputs"].values() for axis in tensor["shape"] or ()}
    used |= {axis for tensor in record["outputs"].values() for axis in tensor["shape"] or ()}
    values_of = finding.case.problem.axis_values(finding.case.workload)
    record["axes"] = {n: {"type": "const", "value": values_of[n]} for n in values_of if n in used}
    record["constraints"] = []
    workload = finding.case.workload.model_copy(update={"axes": {}})
    return Case(_definition(record), workload)


def _record(definition: Definition) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(json_text(definition))
    return record


def _definition(record: Mapping[str, Any]) -> Definition:
    return Definition.model_validate_json(json.dumps(record))
