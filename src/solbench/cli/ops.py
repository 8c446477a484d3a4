"""``solbench ops``: rules of operations: list, coverage of programs, suggestions of a language model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json, Rules, load_user_rules
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.bound import Program
    from solbench.bound.suggest import Suggestion

ops_app = typer.Typer(
    no_args_is_help=True, help="Operator rules: list them, see what programs need, ask for one."
)
app.add_typer(ops_app, name="ops")


@ops_app.command("list")
def list_command(
    family: Annotated[
        str | None, typer.Option("--family", metavar="NAME", help="Only rules of this file.")
    ] = None,
    rules: Rules = None,
    json_lines: Json = False,
) -> None:
    """List the operations that have a rule: its file, and the overloads that it covers.

    Exit code 0, or 2 for a family that is not known.

    Example: solbench ops list --family matmul
    """
    from solbench.bound import list_rules

    load_user_rules(rules)
    found = list_rules()
    shown = [rule for rule in found if family in (None, rule.family)]
    if not shown:
        known = ", ".join(sorted({rule.family for rule in found}))
        raise InputError(f"no family '{family}'", key="--family", remedy=f"There are: {known}.")
    if json_lines:
        for rule in shown:
            _console.emit(rule)
        return
    from solbench.report import rules_report

    _console.out().print(rules_report(shown))


@ops_app.command("coverage")
def coverage_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Problem folders, modules, folders of either, or suite:NAME (a pattern will do; "
            "'suite:' is all).",
        ),
    ],
    rules: Rules = None,
    json_lines: Json = False,
) -> None:
    """Count the operations that programs call, with and without a rule. Of a problem, its first workload.

    Exit code 0 if every operation has a rule and every program could be captured, 1 otherwise.

    Example: solbench ops coverage examples
    """
    from solbench.bound import coverage
    from solbench.cli._problems import program_paths
    from solbench.spec import contained

    load_user_rules(rules)
    quiet = (_console.progress("capturing", None), _console.records_only())
    with program_paths(paths) as found, quiet[0], quiet[1], contained():
        result = coverage(_programs(found))
    if json_lines:
        from solbench.cli._lines_bound import CoverageLine, UncapturedLine

        for use in result.uses:
            _console.emit(CoverageLine.of(use))
        for name, error in result.failed:
            _console.emit(UncapturedLine(program=name, error=error))
    else:
        from solbench.report import coverage_report

        _console.out().print(coverage_report(result))
    if result.uncovered or result.failed:
        raise typer.Exit(_console.ExitCode.NO)


def _programs(paths: list[Path]) -> Iterator[Program]:
    from solbench.bound import find_programs, module_program, problem_program
    from solbench.spec import load_problem

    for path in paths:
        for found in find_programs(path):
            if found.kind == "module":
                yield module_program(found.path)
            else:
                problem = load_problem(found.path)
                yield problem_program(problem, problem.workloads[0])


@ops_app.command("suggest")
def suggest_command(
    op: Annotated[str, typer.Argument(metavar="OP", help="An overload: aten.put.default.")],
    program: Annotated[
        Path,
        typer.Option("--program", metavar="PATH", help="A problem or module that calls it."),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for rules that match.")
    ] = Path("solbench_rules"),
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="An OpenAI-compatible endpoint; default: SOLBENCH_LLM_BASE_URL.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="Default: SOLBENCH_LLM_MODEL."),
    ] = None,
    attempts: Annotated[
        int, typer.Option("--attempts", metavar="N", min=1, help="Answers to try, at most.")
    ] = 3,
    json_lines: Json = False,
) -> None:
    """Ask a language model for the rule of an operation, and store it if it matches PyTorch.

    The text is checked, then run behind walls on small calls; what it says is compared with what the calls do.
    It is never loaded by itself: read the file, then give --rules DIR. The key is in SOLBENCH_LLM_API_KEY.

    Exit code 0 if a rule was stored, 1 if no answer matched.

    Example: solbench ops suggest aten.put.default --program my_module.py
    """
    from solbench.bound.suggest import endpoint, suggest_rule
    from solbench.judge.rules import RuleJail

    asked = endpoint(base_url, model)
    (found,) = list(_programs([program]))[:1]
    with _console.progress(f"asking {asked.model}", None):
        suggestion = suggest_rule(
            op, found, asked.ask, RuleJail(), out, model=asked.model, attempts=attempts
        )
    _show(suggestion, json_lines)
    if not suggestion.accepted:
        raise typer.Exit(_console.ExitCode.NO)


def _show(suggestion: Suggestion, json_lines: bool) -> None:
    if json_lines:
        _console.emit(suggestion)
        return
    for number, reason in enumerate(suggestion.attempts, start=1):
        _console.note(f"answer {number} was not taken: {reason}")
    out = _console.out()
    if suggestion.file is None:
        out.print(f"no answer matched {suggestion.op}", markup=False)
        return
    out.print(
        f"{suggestion.file}: matches on {suggestion.calls} calls. Read it, then use "
        f"--rules {suggestion.file.parent}",
        markup=False,
        soft_wrap=True,
    )
