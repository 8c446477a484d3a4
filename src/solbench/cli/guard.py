"""``solbench guard``: what a solution's text says about its intentions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.judge.guard import ModelReviewer
    from solbench.spec import Definition


@app.command("guard")
def guard_command(
    solution_path: Annotated[
        Path | None,
        typer.Argument(metavar="SOLUTION", help="A solution's JSON, or a folder of its sources."),
    ] = None,
    problem_path: Annotated[
        Path | None,
        typer.Option(
            "--problem",
            metavar="PROBLEM",
            help="The problem: rules about outputs, precision and library calls need it. "
            "Left out: the definition.json beside the solution, if it is this one's.",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--reviewer-base-url",
            metavar="URL",
            help="Ask a model behind this OpenAI-compatible endpoint too; its key comes from "
            "SOLBENCH_LLM_API_KEY or OPENAI_API_KEY.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--reviewer-model", metavar="NAME", help="Which model to ask."),
    ] = None,
    list_rules: Annotated[
        bool, typer.Option("--list-rules", help="List the rules in place of running them.")
    ] = False,
    json_lines: Json = False,
) -> None:
    """Look for tricks in a solution without running it: signals for a reader, never a verdict.

    Exit code 0 if there is no warning and no alarm, 1 if there is one.

    Example: solbench guard examples/rmsnorm/solution_fast.json
    """
    from solbench.cli._lines_guard import GuardLine, RuleLine
    from solbench.judge.guard import all_rules, is_suspicious, review, second_opinion
    from solbench.report import guard_report, rules_table
    from solbench.spec import load_solution

    if list_rules:
        rules = all_rules()
        if json_lines:
            for name, (severity, about) in rules.items():
                _console.emit(RuleLine(rule=name, severity=severity, about=about))
        else:
            _console.out().print(rules_table(rules))
        return
    if solution_path is None:
        raise InputError(
            "no solution is named", key="SOLUTION", remedy="Name one, or give --list-rules."
        )
    reviewer = _reviewer(base_url, model)
    solution = load_solution(solution_path)
    findings = review(solution, _definition(problem_path, solution_path, solution.definition))
    asked = second_opinion(reviewer, solution, findings) if reviewer else None
    if json_lines:
        _console.emit(GuardLine.of(solution.name, findings, asked))
    else:
        _console.out().print(guard_report(solution.name, findings, asked))
    if is_suspicious(findings):
        raise typer.Exit(_console.ExitCode.NO)


def _definition(problem: Path | None, solution: Path, wanted: str) -> Definition | None:
    from solbench.cli._problems import open_problem

    if problem is not None:
        definition = open_problem(problem).definition
        if definition.name != wanted:
            raise InputError(
                f"this solution is for '{wanted}', the problem is '{definition.name}'",
                file=problem,
                key="--problem",
            )
        return definition
    beside = (solution if solution.is_dir() else solution.parent) / "definition.json"
    if not beside.is_file():
        return None
    definition = open_problem(beside).definition
    return definition if definition.name == wanted else None


def _reviewer(base_url: str | None, model: str | None) -> ModelReviewer | None:
    if base_url is None:
        if model is not None:
            raise InputError(
                "a model without an endpoint", key="--reviewer-model", remedy="Give its base URL."
            )
        return None
    from solbench.bound.suggest import endpoint
    from solbench.judge.guard import ModelReviewer

    found = endpoint(base_url, model, prefix="--reviewer-")
    return ModelReviewer(found.base_url, found.model, found.key)
