"""Reading trace files."""

from __future__ import annotations

from pathlib import Path

from solbench.errors import SpecError
from solbench.spec._document import flatten, json_lines, raise_errors, validated
from solbench.spec._trace import Trace


def read_traces(path: Path | str) -> tuple[Trace, ...]:
    """All traces of a JSONL file; ``SpecError`` (several: ``SpecErrors``) for lines that are none.

    >>> [trace.evaluation.status for trace in solbench.read_traces("results.jsonl")]
    ['PASSED', 'PASSED', 'INCORRECT_NUMERICAL', 'RUNTIME_ERROR']
    """
    traces, errors = read_trace_lines(Path(path))
    if errors:
        raise_errors(errors)
    return traces


def read_trace_lines(path: Path) -> tuple[tuple[Trace, ...], tuple[SpecError, ...]]:
    """The good lines, and what is wrong with the others."""
    traces: list[Trace] = []
    errors: list[SpecError] = []
    for line in json_lines(path):
        if isinstance(line, SpecError):
            errors += flatten(line)
            continue
        try:
            traces.append(validated(Trace, line))
        except SpecError as error:
            errors += flatten(error)
    return tuple(traces), tuple(errors)
