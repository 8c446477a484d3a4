"""Rich renderables of bounds and of check's findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._grid import grid

if TYPE_CHECKING:
    from solbench.bound import Bound
    from solbench.spec import Finding


def bound_table(bounds: Sequence[Bound]) -> Table:
    """One row a workload: T_SOL, what binds, and the demanded work behind it."""
    table = grid()
    table.add_column("problem", ratio=1, min_width=12, overflow="fold")
    table.add_column("workload", no_wrap=True)
    table.add_column("T_SOL", justify="right", no_wrap=True)
    table.add_column("binds", no_wrap=True)
    table.add_column("matrix FLOP", justify="right", no_wrap=True)
    table.add_column("read", justify="right", no_wrap=True)
    table.add_column("write", justify="right", no_wrap=True)
    above = ""
    for bound in bounds:
        table.add_row(Text("" if bound.problem == above else bound.problem), *_cells(bound))
        above = bound.problem
    return table


def _cells(bound: Bound) -> list[RenderableType]:
    known = bound.error is None
    return [
        Text(fmt.short_uuid(bound.workload)),
        Text(fmt.duration(bound.t_sol_ms), style="bold") if bound.complete else Text("✗", "red"),
        bound.binding or fmt.ABSENT,
        _matrix(bound.matrix_flops) if known else fmt.ABSENT,
        fmt.size(bound.dram_read_bytes) if known else fmt.ABSENT,
        fmt.size(bound.dram_write_bytes) if known else fmt.ABSENT,
    ]


def _matrix(flops: dict[str, int]) -> str:
    return "\n".join(f"{fmt.amount(n, '')} {kind}" for kind, n in flops.items() if n) or fmt.ABSENT


def bound_report(bounds: Sequence[Bound]) -> Group:
    """Table, the reasons of what is missing, and the assumptions, each once."""
    if not bounds:
        return Group(Text("nothing to derive: every workload is in the file", style="yellow"))
    complete = sum(bound.complete for bound in bounds)
    parts: list[RenderableType] = [_title(bounds[0]), bound_table(bounds)]
    style = "green" if complete == len(bounds) else "red"
    parts.append(Text(f"{complete} of {len(bounds)} bounds complete", style=style))
    parts += [_reason(bound) for bound in bounds if not bound.complete]
    assumptions = dict.fromkeys(text for bound in bounds for text in bound.assumptions)
    parts += [Text(f"assumes: {text}", style="dim") for text in assumptions]
    return Group(*parts)


def _title(bound: Bound) -> Text:
    clock = f" at {bound.clock_mhz:.0f} MHz" if bound.clock_mhz else ""
    return Text.assemble("T_SOL on ", (bound.hardware, "bold"), clock)


def _reason(bound: Bound) -> Text:
    reason = bound.error or f"no rule for {', '.join(bound.unknown_ops)}"
    where = f"{bound.problem} {fmt.short_uuid(bound.workload)}".strip()
    return Text.assemble(("✗ ", "bold red"), (where, "bold"), f": {reason}")


def findings_report(findings: Sequence[Finding]) -> Group:
    """One line a finding, in the form ``file:line: key: what. remedy``, and a closing count."""
    lines: list[RenderableType] = [_finding(finding) for finding in findings]
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    style = "red" if errors else "green"
    lines.append(
        Text(f"{fmt.counted(errors, 'error')}, {fmt.counted(warnings, 'warning')}", style=style)
    )
    return Group(*lines)


def _finding(finding: Finding) -> Text:
    place = str(finding.file) + (f":{finding.line}" if finding.line is not None else "")
    style = "bold red" if finding.severity == "error" else "yellow"
    text = Text.assemble((finding.severity, style), f" {place}: ")
    if finding.key:
        text.append(f"{finding.key}: ")
    text.append(finding.what)
    if finding.remedy:
        text.append(f". {finding.remedy}", style="dim")
    return text
