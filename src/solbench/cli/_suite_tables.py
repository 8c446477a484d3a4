"""Tables of the bundled suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.syntax import Syntax
from rich.text import Text

from solbench.report import counted, grid
from solbench.suite import (
    TARGET_MODELS,
    Composition,
    Input,
    Model,
    ProblemSource,
    load,
)

if TYPE_CHECKING:
    from solbench.suite.admission import ProblemCheck

_MARKS = {
    "ok": ("ok", "green"),
    "failed": ("failed", "bold red"),
    "not_verified": ("open", "yellow"),
}


def problem_list(sources: Sequence[ProblemSource], by: str) -> RenderableType:
    """Names grouped by tier, family or model, one a line: they are there to be copied and searched for."""
    groups: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for key in _keys(source, by):
            groups[key].append(source.name)
    read = _where_read(sources) if by == "model" else {}
    lines: list[Text] = []
    for key in groups if by == "tier" else sorted(groups):
        places = "".join(f"; {place}" for place in read.get(key, ()))
        count = f"  {counted(len(groups[key]), 'problem')}{places}"
        lines += [Text.assemble((key, "bold"), (count, "dim"))]
        lines += [Text(f"  {name}") for name in groups[key]]
    return Group(*lines)


def _where_read(sources: Iterable[ProblemSource]) -> dict[str, tuple[str, ...]]:
    """By model, where its sizes were read: usually one place."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for source in sources:
        for model in source.problem.models:
            found[model.id][_place(model)] = None
    return {name: tuple(places) for name, places in found.items()}


def _keys(source: ProblemSource, by: str) -> Iterable[str]:
    problem = source.problem
    if by == "model":
        return {model.id: None for model in problem.models}
    return (problem.tier if by == "tier" else problem.family,)


def _place(model: Model) -> str:
    return f"read in {model.read}" if model.read else "sizes not confirmed"


def composition_table(counted: Composition) -> RenderableType:
    """Problems a tier against the target; models, precisions and domains below."""
    numbers = ("problems", "of", "forward", "backward", "workloads")
    table = grid("tier", *numbers, numbers=numbers)
    table.show_footer = True
    for tier in counted.tiers:
        cells = (tier.problems, tier.target, tier.forward, tier.backward, tier.workloads)
        table.add_row(tier.tier, *map(str, cells))
    sums = [
        sum(getattr(tier, field) for tier in counted.tiers)
        for field in ("problems", "target", "forward", "backward", "workloads")
    ]
    for column, value in zip(table.columns, ("all", *sums), strict=True):
        column.footer = str(value)
    lines = (
        f"models {counted.models} of {TARGET_MODELS}: {_counts(counted.domains.items())}",
        f"models whose configuration was read: {counted.read}",
        f"precisions: {_counts(counted.precisions.items())}",
    )
    return Group(table, *map(Text, lines))


def _counts(counts: Iterable[tuple[str, int]]) -> str:
    ordered = sorted(counts, key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)


def problem_report(source: ProblemSource) -> RenderableType:
    """Everything that a reader needs to understand one problem, but for its program."""
    problem = source.problem
    head = Text(f"{problem.name}  {problem.tier} {problem.family} {problem.direction}\n", "bold")
    head.append(source.docstring + "\n", "not bold")
    for model in problem.models:
        head.append(f"{model.id}: {model.source}\n", "not bold cyan")
        head.append(f"  {_place(model)}\n", "not bold dim")
    tensors = grid("tensor", "type", "role")
    for name, each in problem.inputs.items():
        if isinstance(each, Input):
            kind = f"{each.type.dtype}[{', '.join(each.type.shape)}]"
            tensors.add_row(name, Text(kind), each.role)
        else:
            tensors.add_row(name, f"{each.dtype} scalar", str(each.value))
    for name, text in problem.outputs.items():
        tensors.add_row(name, Text(text), "output")
    sizes = grid(*problem.workloads.axes, numbers=problem.workloads.axes)
    for row in problem.workloads.values:
        sizes.add_row(*map(str, row))
    count = Text(counted(len(problem.workloads.values), "workload"), "dim")
    return Group(head, tensors, count, sizes)


def reference_text(source: ProblemSource) -> Text:
    """The program, to be printed without breaking its lines, so that it can be copied."""
    return Syntax("", "python").highlight(load(source.name).definition.reference)


def check_table(checks: Sequence[ProblemCheck]) -> RenderableType:
    """One line a problem; what failed or stayed open is written out."""
    table = grid("problem", "gates", "seconds", numbers=("seconds",))
    for check in checks:
        good = sum(each.outcome == "ok" for each in check.findings)
        cell = Text(f"{good} of {len(check.findings)} ok")
        for each in check.findings:
            if each.outcome != "ok":
                word, style = _MARKS[each.outcome]
                cell.append(f"\n{each.gate} {word}: {each.detail}", style)
        table.add_row(check.problem, cell, f"{check.seconds:.1f}")
    failed = sum(not check.passed for check in checks)
    open_ = sum(check.passed and not check.verified for check in checks)
    summary = f"{counted(len(checks), 'problem')}: {failed} failed, {open_} with an open gate"
    return Group(table, Text(summary))
