"""What static rules found in a solution, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from solbench.report._grid import grid

if TYPE_CHECKING:
    from solbench.judge.guard import Finding, SecondOpinion

_STYLES = {"alarm": "bold red", "warning": "yellow", "note": "dim"}


def guard_report(
    solution: str, findings: Sequence[Finding], asked: SecondOpinion | None
) -> RenderableType:
    """One block a finding; a sentence if there is none; then the reviewer's opinion, if one was asked."""
    parts: list[RenderableType] = []
    if not findings:
        parts.append(Text(f"{solution}: no rule found anything."))
    for each in findings:
        head = Text.assemble((f"{each.severity}: ", _STYLES[each.severity]), (each.rule, "bold"))
        parts.append(head.append(f"  {each.evidence}"))
        if each.excerpt:
            parts.append(Text(f"    {each.excerpt}", style="dim"))
    if asked is not None:
        opinion = asked.opinion
        parts.append(
            Text(
                f"reviewer: {opinion.verdict}, sure by {opinion.confidence:.0%}. {opinion.summary}"
            )
        )
        parts += [Text(f"    {each.file}:{each.line}: {each.reason}") for each in opinion.concerns]
        parts.append(Text(asked.comparison, style="" if asked.agrees else "bold yellow"))
    if findings:
        parts.append(Text("Signals for a reader; the verdict rests on what the code does.", "dim"))
    return Group(*parts)


def rules_table(rules: Mapping[str, tuple[str, str]]) -> Table:
    """Id, severity and what each rule looks for."""
    table = grid("rule", "severity", "looks for")
    for name, (severity, about) in rules.items():
        table.add_row(name, Text(severity, style=_STYLES[severity]), Text(about))
    return table
