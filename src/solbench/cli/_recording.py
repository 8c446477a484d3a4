"""Where the traces of an evaluation go: a file, stdout, and the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from solbench.cli import _console
from solbench.cli._records import appending

if TYPE_CHECKING:
    from solbench.cli._held_out import HeldOut
    from solbench.spec import Trace

Keep = Callable[["Trace"], None]


@contextmanager
def recording(out: Path | None, json_lines: bool) -> Iterator[Keep]:
    """A function that appends a trace to ``out`` and, with ``json_lines``, to stdout; both at once."""
    from solbench.spec import trace_line

    with appending(out) as append:

        def keep(trace: Trace) -> None:
            line = trace_line(trace)
            append(line)
            if json_lines:
                _console.emit_text(line)

        yield keep


@contextmanager
def opened_last(keep: Keep, held_out: HeldOut | None) -> Iterator[Keep]:
    """Traces pass through signed; those of held-out workloads wait until all are judged, since they tell
    the secret."""
    if held_out is None:
        yield keep
        return
    waiting: list[Trace] = []

    def sort(trace: Trace) -> None:
        signed = held_out.signed(trace)
        if trace.workload.uuid in held_out.uuids:
            waiting.append(signed)
        else:
            keep(signed)

    yield sort
    for trace in waiting:
        keep(trace)
