"""Which operations have a rule, and which of those that programs call do not."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from solbench.bound._lift import lift
from solbench.bound._programs import Program
from solbench.bound.capture import capture
from solbench.bound.rules import RULES, find
from solbench.errors import SolBenchError


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """One registered rule."""

    op: str
    """An overload (``aten.mm.default``), or an operation with all of its overloads (``aten.mm``)."""
    family: str
    """File of the rule, without its ending."""
    function: str
    summary: str
    """First line of the rule's docstring."""
    file: str
    overloads: tuple[str, ...]
    """Overloads of this torch that the rule is used for, ``out=`` and in-place forms left out."""


@dataclass(frozen=True, slots=True)
class OpUse:
    """One overload that programs call."""

    op: str
    calls: int
    programs: int
    family: str
    """Of its rule; empty where there is none."""
    refused: int
    """Calls that the rule does not cover."""

    @property
    def covered(self) -> bool:
        return bool(self.family) and not self.refused


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a set of programs calls."""

    uses: tuple[OpUse, ...]
    """Uncovered first, then by calls."""
    programs: int
    failed: tuple[tuple[str, str], ...] = ()
    """(program, why it could not be captured)."""

    @property
    def uncovered(self) -> tuple[OpUse, ...]:
        return tuple(use for use in self.uses if not use.covered)


def list_rules() -> tuple[RuleInfo, ...]:
    """Every rule, by family and operation."""
    overloads = _functional_overloads()
    found = []
    for op, function in RULES.items():
        named = (name for name in overloads if op in (name, name.rsplit(".", 1)[0]))
        own = tuple(name for name in named if find(name) is function)
        file = inspect.getsourcefile(function) or ""
        summary = (inspect.getdoc(function) or "").split("\n", 1)[0]
        found.append(RuleInfo(op, Path(file).stem, function.__name__, summary, file, own))
    return tuple(sorted(found, key=lambda rule: (rule.family, rule.op)))


def _functional_overloads() -> tuple[str, ...]:
    """Overloads of ATen that return new tensors."""
    names = (name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    dotted = (name.replace("::", ".") for name in names)
    whole = (name if name.count(".") == 2 else f"{name}.default" for name in dotted)
    return tuple(
        sorted(n for n in whole if not n.endswith("out") and not n.split(".")[1].endswith("_"))
    )


@dataclass(slots=True)
class _Count:
    calls: int = 0
    refused: int = 0
    programs: set[str] = field(default_factory=set)


def coverage(programs: Iterable[Program]) -> Coverage:
    """Capture programs and count what they call. One that cannot be captured is listed, the others go on."""
    counts: dict[str, _Count] = {}
    failed: list[tuple[str, str]] = []
    total = 0
    for program in programs:
        total += 1
        try:
            _count(program, counts)
        except SolBenchError as error:
            failed.append((program.name, str(error)))
    uses = [_use(op, count) for op, count in counts.items()]
    uses.sort(key=lambda use: (use.covered, -use.calls, use.op))
    return Coverage(tuple(uses), total, tuple(failed))


def _count(program: Program, counts: dict[str, _Count]) -> None:
    graph, _ = capture(program)
    lifted = lift(graph)
    for node in graph.nodes:
        results = list(node.results())
        if not results:
            continue  # a check or a question, nothing to compute
        count = counts.setdefault(node.op, _Count())
        count.calls += 1
        count.programs.add(f"{program.name} {program.workload}")
        count.refused += any(result in lifted.opaque for result in results)


def _use(op: str, count: _Count) -> OpUse:
    rule = find(op)
    family = Path(inspect.getsourcefile(rule) or "").stem if rule is not None else ""
    return OpUse(op, count.calls, len(count.programs), family, count.refused)
