"""Rich renderables of traces: pure functions, nothing is printed here. All fit 80 columns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._grid import grid
from solbench.report._summary import Summary, distance, summarise
from solbench.spec import Timing, Trace

_EVIDENCE_CHARS = 200
_LOG_LINES = 6
_MOST_FAILURES = 5
"""Causes that are told in full: the traces have them all."""
_MOST_NAMES = 3
_IMPORTER = re.compile(r'\s*File "<frozen ')
_ARTIFACT = re.compile(r'[^\s"]*/artifacts/[0-9a-f]{64}/')
"""The folder of the build cache in which a submission's files lie while they run."""


def status_style(status: str) -> str:
    """Colour of a verdict."""
    return "green" if status == "PASSED" else "bold red"


def _time_cell(trace: Trace) -> str:
    timing = trace.solbench.timing if trace.solbench else None
    if timing is None:
        return fmt.ABSENT
    return f"{time_text(timing)} {interval_text(timing)}".rstrip()


def time_text(timing: Timing) -> str:
    """The median; where the timer floor covers all of it, that it is below the floor."""
    if timing.median_ms > 0:
        return fmt.duration(timing.median_ms)
    return f"< {fmt.duration(timing.timer_floor_ms)}"


def interval_text(timing: Timing) -> str:
    """Half the 95 % interval as a share of the median."""
    return fmt.half_width(timing.ci_low_ms, timing.ci_high_ms, timing.median_ms)


def _row(trace: Trace) -> list[RenderableType]:
    record = trace.solbench
    status = trace.evaluation.status
    return [
        Text.assemble(
            (fmt.short_uuid(trace.workload.uuid), "bold"), " ", fmt.axes(trace.workload.axes)
        ),
        Text(status.replace("_", " "), style=status_style(status)),
        _time_cell(trace),
        fmt.duration(record.t_sol_ms if record else None),
        fmt.ratio(distance(trace)),
        fmt.score(record.score if record else None),
        (record.binding if record else None) or fmt.ABSENT,
    ]


def evaluation_table(traces: Sequence[Trace]) -> Table:
    """One row a workload: verdict, time, bound, distance, score."""
    table = grid()
    table.add_column("workload", ratio=1, min_width=14)
    table.add_column("status", min_width=7, max_width=10)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("T_SOL", justify="right", no_wrap=True)
    table.add_column("× SOL", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("binds", no_wrap=True)
    for trace in traces:
        table.add_row(*_row(trace))
    return table


def evaluation_report(traces: Sequence[Trace]) -> Group:
    """Title, table, summary, then notes, flags and failures."""
    summary = summarise(traces)
    parts: list[RenderableType] = [_title(traces), evaluation_table(traces), summary_text(summary)]
    parts += [Text(line, style="yellow") for line in note_lines(traces)]
    return Group(*parts, *failure_texts(traces))


def _title(traces: Sequence[Trace]) -> Text:
    first = traces[0]
    where = first.evaluation.environment.hardware
    return Text.assemble(
        (first.definition, "bold"),
        " ← ",
        (first.solution, "bold"),
        f"   on {where}{_other_peaks(first)}",
    )


def _other_peaks(trace: Trace) -> str:
    """Whose bound it is, except on the CPU at hand, where it can only be its own."""
    bound = trace.solbench.bound if trace.solbench else None
    return "" if (bound or {}).get("hardware") == "cpu" else priced_on(trace)


def priced_on(trace: Trace) -> str:
    """``, bound of h200``; on ``cpu`` with the reminder that its peaks are measured ones."""
    bound = trace.solbench.bound if trace.solbench else None
    name = (bound or {}).get("hardware")
    if not name:
        return ""
    return f", bound of {name}" + (" (measured peaks: an estimate)" if name == "cpu" else "")


def summary_text(summary: Summary) -> Text:
    """The closing line of one evaluation."""
    style = "green" if summary.passed == summary.workloads else "red"
    text = Text.assemble((f"{summary.passed} of {summary.workloads} passed", style))
    if summary.speedup is not None:
        text.append(f" · {fmt.ratio(summary.speedup)} as fast as the reference")
    score = "withheld" if summary.withheld else fmt.score(summary.score)
    text.append(f" · score {score}")
    if summary.baseline:
        text.append(f" (baseline {summary.baseline})", style="dim")
    return text


def note_lines(traces: Sequence[Trace]) -> list[str]:
    """Flags and missing scores, each once with the number of workloads that carry it."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for trace in traces:
        if trace.solbench is None:
            continue
        for flag in trace.solbench.flags:
            seen[f"flag {flag.id}", flag.evidence] += 1
        if trace.solbench.score is None and trace.evaluation.status == "PASSED":
            seen["no score", trace.solbench.score_note.removeprefix("no score: ")] += 1
    by_kind: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for (kind, text), count in seen.items():
        by_kind[kind].append((text, count))
    return [_note_line(kind, texts, len(traces)) for kind, texts in by_kind.items()]


def _note_line(kind: str, texts: list[tuple[str, int]], workloads: int) -> str:
    count = sum(number for _, number in texts)
    where = "all workloads" if count == workloads else f"{count} of {workloads} workloads"
    evidence = texts[0][0]
    shown = evidence if len(evidence) <= _EVIDENCE_CHARS else evidence[: _EVIDENCE_CHARS - 1] + "…"
    example = "such as: " if len(texts) > 1 else ""
    return f"{kind} ({where}): {example}{shown}"


def failure_texts(traces: Sequence[Trace]) -> list[Text]:
    """What went wrong, where, and by how much: each cause once, with the workloads that it met."""
    alike: dict[str, list[Trace]] = defaultdict(list)
    for trace in traces:
        if trace.evaluation.status != "PASSED":
            alike[_cause(trace)].append(trace)
    told = list(alike.items())[:_MOST_FAILURES]
    texts = [
        Text.assemble(("✗ ", "bold red"), (_names(failed), "bold"), f" {cause}")
        for cause, failed in told
    ]
    rest = sum(map(len, alike.values())) - sum(len(failed) for _, failed in told)
    return [*texts, Text(f"… and {rest} more failures", style="dim")] if rest else texts


def _cause(trace: Trace) -> str:
    failure = trace.solbench.failure if trace.solbench else None
    head = trace.evaluation.status + (f": {failure_sentence(failure)}" if failure else "")
    return "\n    ".join((head, *log_lines(trace)[-_LOG_LINES:]))


def _names(traces: Sequence[Trace]) -> str:
    names = [fmt.short_uuid(trace.workload.uuid) for trace in traces]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def log_lines(trace: Trace) -> list[str]:
    """What a failed workload printed, as its author would read it.

    Without the reason that ``failure_sentence`` gives with its place, without the frames of Python's own
    importer, and with files of the submission named as in the submission.
    """
    lines = trace.evaluation.log.strip().splitlines()
    shown = lines[1:] if trace.solbench and trace.solbench.failure else lines
    return [_ARTIFACT.sub("", line) for line in shown if not _IMPORTER.match(line)]


def failure_sentence(failure: dict[str, Any]) -> str:
    """``y[3, 17]: expected 0.12, got 0.45; 12.5% of elements off``."""
    parts = []
    place = failure.get("output") or ""
    if failure.get("index") is not None:
        place += str(list(failure["index"]))
    values = ", ".join(
        f"{label} {_number(failure[key])}"
        for key, label in (("expected", "expected"), ("got", "got"))
        if failure.get(key) is not None
    )
    parts.append(": ".join(part for part in (place, values) if part))
    if failure.get("share_off") is not None:
        parts.append(f"{100 * failure['share_off']:.3g}% of elements off")
    return "; ".join(part for part in parts if part)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def overview_table(summaries: Sequence[Summary]) -> Table:
    """One row a solution, for many problems at once; a line between problems."""
    table = grid()
    table.add_column("solution", ratio=1, min_width=24, overflow="fold")
    for name in ("passed", "× reference", "× T_SOL", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for summary, following in zip_longest(summaries, summaries[1:]):
        style = "green" if summary.passed == summary.workloads else "bold red"
        table.add_row(
            Text(_full_name(summary)),
            Text(f"{summary.passed}/{summary.workloads}", style=style),
            fmt.ratio(summary.speedup),
            fmt.ratio(summary.distance),
            "withheld" if summary.withheld else fmt.score(summary.score),
            end_section=following is not None and following.definition != summary.definition,
        )
    return table


def _full_name(summary: Summary) -> str:
    """Solution names often begin with their problem's."""
    if summary.solution.startswith(summary.definition):
        return summary.solution
    return f"{summary.definition} · {summary.solution}"
