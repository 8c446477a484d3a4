"""``solbench eval``: run a solution in the jail, check it, time it, and score it against the bound."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli._app import app
from solbench.cli._options import (
    Blobs,
    DeviceName,
    Hardware,
    Json,
    ModeName,
    OutFile,
    Rules,
    RunMode,
    Workloads,
    WorkloadsFile,
    read_problem,
    read_solution,
    select_workloads,
)
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.cli._held_out import HeldOut
    from solbench.judge import Options
    from solbench.spec import Problem


@app.command("eval")
def evaluate_command(
    problem_path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PROBLEM]",
            help="A problem folder, its definition.json, or suite:NAME. With --suite left out, or "
            "suite:PATTERN for the names that it matches.",
        ),
    ] = None,
    solution_path: Annotated[
        Path | None,
        typer.Option(
            "--solution",
            metavar="FILE",
            help="A solution's JSON, or a folder of its loose sources. "
            "Left out: the reference itself, which scores about 0.5.",
        ),
    ] = None,
    device: DeviceName = "cpu",
    workload: Workloads = None,
    workloads_file: WorkloadsFile = None,
    hardware: Hardware = None,
    mode: RunMode = ModeName.REWARD,
    hot: Annotated[
        bool,
        typer.Option(
            "--hot", help="Leave caches as they are; such times are marked and never rank."
        ),
    ] = False,
    suite: Annotated[
        bool,
        typer.Option(
            "--suite", help="All problems of the bundled suite in one go, on their smoke workloads."
        ),
    ] = False,
    solutions: Annotated[
        Path | None,
        typer.Option(
            "--solutions",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="With --suite: solutions as NAME.json, NAME/solution.json or sources in NAME/; "
            "problems without one are left out. Without it: the references.",
        ),
    ] = None,
    held_out: Annotated[
        int,
        typer.Option(
            "--held-out",
            metavar="N",
            min=0,
            help="Add N workloads of secret sizes to each problem of the suite.",
        ),
    ] = 0,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.1,
            help="Of one call, what it compiles included; a solution that takes longer is a TIMEOUT. "
            "Left out: 120 s for the first call, 30 s for others.",
        ),
    ] = None,
    require_jail: Annotated[
        bool, typer.Option("--require-jail", help="Refuse to run where a jail layer is missing.")
    ] = False,
    require_admission: Annotated[
        bool,
        typer.Option(
            "--require-admission",
            help="Refuse public problems too whose gate lets answers pass that take no work.",
        ),
    ] = False,
    rules: Rules = None,
    phases: Annotated[
        bool,
        typer.Option(
            "--phases",
            help="Also tell when the parts of the work began and how long they took: on stderr, or as the "
            "last JSON line.",
        ),
    ] = False,
    json_lines: Json = False,
    blobs: Blobs = None,
    out: OutFile = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Skip workloads whose trace is in --out, INVALID_REFERENCE apart; refused if that "
            "holds other conditions.",
        ),
    ] = False,
) -> None:
    """Evaluate a solution: verdict, time, distance to the bound, and score, per workload.

    Exit code 0 if every workload passed, 1 if one did not.

    With --suite: every problem of the bundled suite, a table by tier, and a summary as the last JSON line.

    Example: solbench eval examples/rmsnorm --solution examples/rmsnorm/solution_fast.json
    """
    if resume and out is None:
        raise InputError("there is no file to resume from", key="--resume", remedy="Give --out.")
    from solbench.cli._eval_single import SingleRun, evaluate_single
    from solbench.cli._records import Conditions

    conditions = Conditions(device, hardware, mode.value, hot, tuple(rules or ()))
    options: Options = {
        "hardware": hardware,
        "mode": mode.value,
        "require_jail": require_jail,
        "require_admission": require_admission,
        "timeout_s": timeout,
    }
    if suite:
        _refuse_beside_suite(
            {
                "--solution": solution_path,
                "--workload": workload,
                "--blobs": blobs,
                "--phases": phases,
            }
        )
        from solbench.cli._eval_suite import SuiteRequest, evaluate_suite

        pattern = str(problem_path or "")
        request = SuiteRequest(pattern, solutions, _is_full(workloads_file), held_out)
        evaluate_suite(request, conditions, options, out=out, resume=resume, json_lines=json_lines)
        return
    if problem_path is None:
        raise InputError("no problem is named", remedy="Name a PROBLEM, or give --suite.")
    if solutions is not None:
        raise InputError("is for many problems", key="--solutions", remedy="Give --suite too.")
    problem = read_problem(problem_path, workloads_file, blobs)
    solution = read_solution(problem, solution_path)
    wanted = select_workloads(problem, workload)
    secret_sizes = None
    if held_out:
        problem, secret_sizes = _with_held_out(problem_path, problem, held_out, workloads_file)
        wanted += tuple(each for each in problem.workloads if each.uuid in secret_sizes.uuids)
    run = SingleRun(problem, solution, wanted, secret_sizes, phases)
    evaluate_single(run, conditions, options, out=out, resume=resume, json_lines=json_lines)


def _refuse_beside_suite(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise InputError("is for one problem, not for the suite", key=name)


def _is_full(workloads_file: Path | None) -> bool:
    """Whether the suite's full workloads are meant; smoke ones are the default."""
    known = {None: False, Path("workload_smoke.jsonl"): False, Path("workload.jsonl"): True}
    if workloads_file not in known:
        raise InputError(
            f"the suite has no {workloads_file}",
            key="--workloads-file",
            remedy="It has workload_smoke.jsonl, the default, and workload.jsonl.",
        )
    return known[workloads_file]


def _with_held_out(
    path: Path, problem: Problem, count: int, workloads_file: Path | None
) -> tuple[Problem, HeldOut]:
    from solbench.cli._held_out import with_held_out
    from solbench.cli._problems import SUITE_PREFIX

    if not str(path).startswith(SUITE_PREFIX):
        raise InputError(
            "is for problems of the suite alone: only they say which sizes may vary",
            key="--held-out",
            remedy="Name the problem as suite:NAME.",
        )
    smoke = workloads_file is not None and not _is_full(workloads_file)
    return with_held_out(problem, count, smoke=smoke)
