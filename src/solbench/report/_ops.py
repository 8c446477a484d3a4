"""Rich tables of operator rules, and of what programs call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._grid import grid

if TYPE_CHECKING:
    from solbench.bound import Coverage, RuleInfo


def rules_report(rules: Sequence[RuleInfo]) -> RenderableType:
    """One row a rule, and the totals."""
    table = grid("operation", "file", "overloads", "what", numbers=("overloads",))
    for rule in rules:
        name = rule.op.removeprefix("aten.")
        table.add_row(Text(name), rule.family, str(len(rule.overloads)), Text(rule.summary, "dim"))
    overloads = {name for rule in rules for name in rule.overloads}
    families = Counter(rule.family for rule in rules)
    total = ", ".join(
        (
            f"{fmt.counted(len(rules), 'operation')} in {fmt.counted(len(families), 'file')}",
            fmt.counted(len(overloads), "overload"),
        )
    )
    return Group(table, Text(total, style="dim"))


def coverage_report(coverage: Coverage) -> RenderableType:
    """Operations without a rule first."""
    table = grid("operation", "rule", "calls", "programs", numbers=("calls", "programs"))
    for use in coverage.uses:
        rule = Text(use.family) if use.covered else Text("none", style="bold red")
        if use.refused and use.family:
            rule = Text(f"{use.family}: {use.refused} calls not covered", style="bold red")
        table.add_row(Text(use.op), rule, str(use.calls), str(use.programs))
    covered = len(coverage.uses) - len(coverage.uncovered)
    parts: list[RenderableType] = [table]
    parts += [Text(f"{name}: {error}", style="red") for name, error in coverage.failed]
    programs = fmt.counted(coverage.programs, "program")
    total = f"{covered} of {fmt.counted(len(coverage.uses), 'operation')} covered, in {programs}"
    parts.append(Text(total, style="dim"))
    return Group(*parts)
