"""What an evaluation says beside its numbers: what binds, what the guard saw, and what to try next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._feedback import Feedback, feedback
from solbench.report._tables import evaluation_report as verdicts
from solbench.spec import Trace

_MOST_FINDINGS = 5
_MOST_HINTS = 3


def evaluation_report(traces: Sequence[Trace]) -> Group:
    """Verdicts, times and failures of one solution; below them, what follows from them."""
    parts: list[RenderableType] = [verdicts(traces)]
    parts += [Text(line, style="yellow") for line in guard_lines(traces)]
    parts += [Text(line) for line in binding_lines(traces)]
    parts += [Text(f"→ {line}", style="cyan") for line in next_lines(traces)]
    return Group(*parts)


def guard_lines(traces: Sequence[Trace]) -> list[str]:
    """Signals of the static rules, each once, notes left out; ``solbench guard`` shows all of them."""
    found = list(dict.fromkeys(line for trace in traces for line in feedback(trace).findings))
    lines = [f"guard: {line}" for line in found[:_MOST_FINDINGS]]
    more = len(found) - _MOST_FINDINGS
    return [*lines, f"guard: … and {more} more; see 'solbench guard'"] if more > 0 else lines


def binding_lines(traces: Sequence[Trace]) -> list[str]:
    """What binds at the limit, on how many workloads, and which share of that peak they reach."""
    made = [each for trace in traces if (each := feedback(trace)).latency_ms]
    lines = []
    for resource in ("dram", "matrix"):
        bound = [each for each in made if each.binding == resource]
        if bound:
            where = _where(len(bound), len(traces))
            lines.append(f"binds: {resource} ({where}){_reached(bound, resource)}")
    return lines


def _reached(bound: Sequence[Feedback], resource: str) -> str:
    shares = [each.dram_share if resource == "dram" else each.matrix_share for each in bound]
    known = [share for share in shares if share is not None]
    if not known:
        return ""
    low, high = fmt.share(min(known)), fmt.share(max(known))
    return f", {low} of its peak" if low == high else f", {low} to {high} of its peak"


def next_lines(traces: Sequence[Trace]) -> list[str]:
    """What to try, that of most workloads first; ``solbench profile`` shows them workload by workload."""
    counts = Counter(hint for trace in traces for hint in feedback(trace).hints)
    return [
        hint if count == len(traces) else f"{hint} ({_where(count, len(traces))})"
        for hint, count in counts.most_common(_MOST_HINTS)
    ]


def _where(count: int, workloads: int) -> str:
    return "all workloads" if count == workloads else f"{count} of {workloads} workloads"


def advice_facts(made: Feedback) -> list[tuple[str, str]]:
    """The same of one workload, as name and text."""
    facts = _rates(made)
    facts += [("guard", line) for line in made.findings]
    return facts + [("next", hint) for hint in made.hints]


def _rates(made: Feedback) -> list[tuple[str, str]]:
    rates = (
        ("demanded bytes", made.dram_bytes_per_s, made.dram_share, "GB/s"),
        ("products", made.matrix_flops_per_s, made.matrix_share, "GFLOP/s"),
    )
    return [
        (name, f"{rate / 1e9:.4g} {unit}" + (f", {fmt.share(share)} of peak" if share else ""))
        for name, rate, share, unit in rates
        if rate is not None
    ]
