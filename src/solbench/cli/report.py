"""``solbench report``: traces to a table and a single HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json
from solbench.errors import InputError


@app.command("report")
def report_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="TRACES...", help="JSONL files that eval --out wrote.")
    ],
    page: Annotated[
        Path | None, typer.Option("--html", "-o", metavar="FILE", help="Write this HTML page.")
    ] = None,
    title: Annotated[str, typer.Option("--title", help="The page's title.")] = "SolBench results",
    json_lines: Json = False,
) -> None:
    """Summarise traces: one row a solution; the last trace of a workload counts.

    Exit code 0, also where workloads failed; 2 for files without a trace.

    Example: solbench report results.jsonl -o results.html
    """
    _console.require_folder(page, "--html")
    from solbench.report import by_solution, html_page, overview_table, summarise
    from solbench.spec import read_traces

    traces = [trace for file in files for trace in read_traces(file)]
    if not traces:
        raise InputError(
            "holds no trace", file=files[0], remedy="'solbench eval --out' writes them."
        )
    summaries = [summarise(group) for group in by_solution(traces).values()]
    if page is not None:
        _console.write_file(page, html_page(traces, title))
    if json_lines:
        for summary in summaries:
            _console.emit(summary)
        return
    _console.out().print(overview_table(summaries))
    if page is not None:
        _console.out().print(f"page: {page}", markup=False, soft_wrap=True)
