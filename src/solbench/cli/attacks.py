"""``solbench attacks``: cheating submissions against the judge. No cheating may pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json
from solbench.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from solbench.judge.attacks import AttackCase, Finding

DEFAULT_CORPUS = Path("tests/attacks/cases")
"""Where a checkout keeps its cases; they are not installed."""

attacks_app = typer.Typer(no_args_is_help=True, help="Cheating submissions against the judge.")
app.add_typer(attacks_app, name="attacks")


@attacks_app.callback()
def _group() -> None:
    """Cheating submissions against the judge."""


@attacks_app.command("run")
def run_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Only cases whose name begins so; default: all."),
    ] = None,
    corpus: Annotated[
        Path, typer.Option("--corpus", metavar="DIR", help="Folder of case files, one attack each.")
    ] = DEFAULT_CORPUS,
    ablate: Annotated[
        str | None,
        typer.Option(
            "--ablate",
            metavar="LAYER",
            help="Leave this defence out and run the attacks that it stops; one should gain then.",
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            "--device",
            metavar="DEVICE",
            help="Run the cases for this device: cpu, or cuda:0 and so on.",
        ),
    ] = "cpu",
    json_lines: Json = False,
) -> None:
    """Run the corpus and count the attacks that gain.

    An attack gains if it passes and is wrong on held-out inputs, or if its verified time is below its honest
    twin's: 95% intervals apart and medians by more than a tenth. Exit code 0 if none gains, 1 if one does.
    Cases for another device are left out and counted.

    Example: solbench attacks run timing
    """
    from solbench.cli._lines_judge import AttackLine
    from solbench.judge.attacks import AttackCase as Case
    from solbench.judge.attacks import gains, load_corpus, run_ablation, runnable

    cases = load_corpus(corpus, Case)
    if ablate is not None:
        if names:
            raise InputError(
                "an ablation chooses its cases itself", key="NAME", remedy="Leave it out."
            )
        findings = run_ablation(ablate, cases, device=device)
        if json_lines:
            for finding in findings:
                _console.emit(AttackLine.of(finding))
    else:
        chosen, left_out = runnable(_choose(cases, names), device)
        if left_out:
            _console.note(f"{len(left_out)} cases left out: {_reasons(left_out)}")
        findings = _run(chosen, device, json_lines) if chosen else []
    if not json_lines:
        _show(findings, gains(findings))
        if ablate is None:
            _name_surprises(findings)
    if gains(findings):
        raise typer.Exit(_console.ExitCode.NO)


def _reasons(left_out: Mapping[str, str]) -> str:
    """How many for which reason."""
    counts = Counter(left_out.values())
    return ", ".join(f"{reason} ({count})" for reason, count in counts.items())


def _run(cases: Mapping[str, AttackCase], device: str, json_lines: bool) -> list[Finding]:
    from solbench.cli._lines_judge import AttackLine
    from solbench.judge import LocalJudge
    from solbench.judge.attacks import require_walls, run_attack

    findings = []
    with LocalJudge(device) as judge, _console.progress("attacks", len(cases)) as bar:
        require_walls(judge, next(iter(cases.values())))
        for name, case in cases.items():
            finding = run_attack(judge, name, case)
            findings.append(finding)
            if json_lines:
                _console.emit(AttackLine.of(finding))
            bar.advance(name)
    return findings


def _choose(cases: Any, names: list[str] | None) -> dict[str, AttackCase]:
    if not names:
        return dict(cases)
    for name in names:
        if not any(each.startswith(name) for each in cases):
            raise InputError(
                "no case begins so", key=name, remedy=f"There are: {', '.join(cases)}."
            )
    return {each: case for each, case in cases.items() if each.startswith(tuple(names))}


def _show(findings: Sequence[Finding], count: int) -> None:
    out = _console.out()
    attacks = [finding for finding in findings if finding.kind == "attack"]
    others = [finding for finding in findings if finding.kind != "attack"]
    if attacks:
        out.print(_table("Attacks", attacks))
    if others:
        out.print(_table("Policy and luck, told apart", others))
    out.print(f"{count} of {len(attacks)} attacks gained", style="bold red" if count else "bold")


def _name_surprises(findings: Sequence[Finding]) -> None:
    """Without a defence nothing is as expected, so this is for judges that have them all."""
    surprising = [finding.name for finding in findings if not finding.as_expected]
    if surprising:
        _console.out().print(f"not as expected: {', '.join(surprising)}", markup=False)


def _table(title: str, findings: Sequence[Finding]) -> Table:
    from solbench.report import grid

    table = grid("attack", "outcome", "ms / twin's", "stopped by", "gained")
    table.title, table.title_justify = title, "left"
    for finding in findings:
        table.add_row(
            finding.name,
            finding.attack.status,
            _times(finding),
            finding.stopped_by,
            f"[red]{finding.gain}[/]" if finding.gain else "no",
        )
    return table


def _times(finding: Finding) -> str:
    twin = finding.twin
    if finding.attack.timing is None or twin is None or twin.timing is None:
        return ""
    mark = "" if finding.attack.timing.verified else " unverified"
    return f"{finding.attack.timing.median_ms:.3g} / {twin.timing.median_ms:.3g}{mark}"
