"""The results page: one HTML file that needs no network, from traces alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from solbench.errors import InputError, MissingExtra
from solbench.report import _format as fmt
from solbench.report._advice import advice_facts, binding_lines, guard_lines, next_lines
from solbench.report._feedback import feedback
from solbench.report._feedback_text import profile_text
from solbench.report._summary import Summary, by_solution, distance, summarise
from solbench.report._tables import (
    failure_sentence,
    interval_text,
    log_lines,
    note_lines,
    time_text,
)
from solbench.spec import Trace

_TRACK_MARGIN = 4.0
"""Percent kept free at both ends of a time track, so that marks are never cut off."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark on a workload's time track."""

    kind: str
    """``sol``, ``attainable``, ``reference`` or ``own``: a CSS class."""
    percent: float
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """One workload of one solution, ready to show."""

    uuid: str
    axes: str
    status: str
    time: str
    interval: str
    t_sol: str
    distance: str
    score: str
    score_percent: float
    binding: str
    marks: tuple[Mark, ...]
    failure: str
    log: str
    profile: str
    """What ``solbench profile`` saw, as text; empty where it did not look."""
    facts: tuple[tuple[str, str], ...]
    """Name and value: the terms of the bound, the timing's detail, the digests."""


@dataclass(frozen=True, slots=True)
class Section:
    """One solution on one problem."""

    summary: Summary
    hardware: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    """Flags, missing scores, and what the guard saw."""
    advice: tuple[str, ...]
    """What binds, and what to try next."""


def html_page(traces: Sequence[Trace], title: str = "SolBench results") -> str:
    """The whole page as text. Raises ``MissingExtra`` without the ``report`` extra."""
    if not traces:
        raise InputError(
            "there is no trace to report", remedy="Run 'solbench eval ... --out FILE'."
        )
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtra("jinja2", "report", error) from error
    from solbench.report._roofline import roofline_svg

    environment = Environment(
        loader=PackageLoader("solbench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"ratio": fmt.ratio, "score": fmt.score}
    groups = by_solution(traces)
    problems: dict[str, list[Section]] = {}
    for (definition, _), group in groups.items():
        problems.setdefault(definition, []).append(_section(group, traces))
    latest = [trace for group in groups.values() for trace in group]
    return environment.get_template("page.html.j2").render(
        title=title,
        problems=problems,
        hardware=sorted({trace.evaluation.environment.hardware for trace in latest}),
        libs=_libs(latest),
        finished=max(trace.evaluation.timestamp for trace in latest),
        trace_count=len(latest),
        roofline=roofline_svg(latest),
        estimated=any(_bound_of(trace).get("hardware") == "cpu" for trace in latest),
    )


def _bound_of(trace: Trace) -> dict[str, Any]:
    return (trace.solbench.bound if trace.solbench else None) or {}


def _libs(traces: Sequence[Trace]) -> str:
    libs: dict[str, str] = {}
    for trace in traces:
        libs |= trace.evaluation.environment.libs
    return ", ".join(f"{name} {version}" for name, version in libs.items())


def _section(group: Sequence[Trace], everything: Sequence[Trace]) -> Section:
    same_problem = [trace for trace in everything if trace.definition == group[0].definition]
    scale = _Scale.of(same_problem)
    return Section(
        summary=summarise(group),
        hardware=group[0].evaluation.environment.hardware,
        rows=tuple(_row(trace, scale) for trace in group),
        notes=(*note_lines(group), *guard_lines(group)),
        advice=(*binding_lines(group), *(f"→ {line}" for line in next_lines(group))),
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """A log axis of times that all rows of a problem share."""

    low_ms: float
    high_ms: float

    @staticmethod
    def of(traces: Sequence[Trace]) -> _Scale:
        times = [ms for trace in traces for _, ms, _ in _times(trace)]
        return _Scale(min(times), max(times)) if times else _Scale(1.0, 1.0)

    def percent(self, time_ms: float) -> float:
        if self.high_ms <= self.low_ms:
            return 50.0
        share = math.log(time_ms / self.low_ms) / math.log(self.high_ms / self.low_ms)
        return _TRACK_MARGIN + (100.0 - 2 * _TRACK_MARGIN) * share


def _times(trace: Trace) -> list[tuple[str, float, str]]:
    """Every time that a track shows, as (kind, ms, name)."""
    record = trace.solbench
    if record is None:
        return []
    reference = record.reference_timing.median_ms if record.reference_timing else None
    own = record.timing.median_ms if record.timing else None
    named = (
        ("sol", record.t_sol_ms, "T_SOL"),
        ("attainable", record.t_attainable_ms, "T_attainable"),
        ("reference", reference, "reference"),
        ("own", own, "this solution"),
    )
    return [(kind, ms, name) for kind, ms, name in named if ms is not None and ms > 0]


def _row(trace: Trace, scale: _Scale) -> Row:
    record = trace.solbench
    timing = record.timing if record else None
    score = record.score if record else None
    failure = record.failure if record else None
    passed = trace.evaluation.status == "PASSED"
    return Row(
        uuid=trace.workload.uuid,
        axes=fmt.axes(trace.workload.axes),
        status=trace.evaluation.status,
        time=time_text(timing) if timing else fmt.ABSENT,
        interval=interval_text(timing) if timing else "",
        t_sol=fmt.duration(record.t_sol_ms if record else None),
        distance=fmt.ratio(distance(trace)),
        score=fmt.score(score),
        score_percent=100.0 * (score or 0.0),
        binding=(record.binding if record else None) or fmt.ABSENT,
        marks=tuple(
            Mark(kind, round(scale.percent(ms), 2), f"{name} {fmt.duration(ms)}")
            for kind, ms, name in _times(trace)
        ),
        failure=failure_sentence(failure) if failure else "",
        log="" if passed else "\n".join(log_lines(trace)),
        profile=profile_text(trace),
        facts=tuple(_facts(trace)),
    )


def _facts(trace: Trace) -> list[tuple[str, str]]:
    """The reasons behind a row, as name and text; what is not there is left out."""
    record = trace.solbench
    if record is None:
        return []
    facts = _bound_facts(_bound_of(trace))
    timing = record.timing
    if timing is not None:
        clock = f"{timing.clock} clock, {timing.cache} cache" + (
            "" if timing.verified else ", unverified"
        )
        facts += [
            (
                "95 % interval",
                f"{fmt.duration(timing.ci_low_ms)} to {fmt.duration(timing.ci_high_ms)}",
            ),
            ("samples", f"{len(timing.samples)} ({timing.dropped} dropped), {clock}"),
            ("timer floor", f"{fmt.duration(timing.timer_floor_ms)}, subtracted"),
        ]
    if record.reference_timing is not None:
        facts.append(("reference", fmt.duration(record.reference_timing.median_ms)))
    facts.append(("T_attainable (estimate)", fmt.duration(record.t_attainable_ms)))
    facts.append(("score", record.score_note))
    facts += advice_facts(feedback(trace))
    facts += [(f"flag: {flag.id}", flag.evidence) for flag in record.flags]
    missing = [f"{name}: {why or 'no'}" for name, why in record.jail.items() if why is not True]
    facts.append(("jail", "; ".join(missing) if missing else "every layer stood"))
    facts += [(f"SHA-256 of {name}", digest) for name, digest in record.digests.items()]
    return facts


def _bound_facts(bound: dict[str, Any]) -> list[tuple[str, str]]:
    """The bound's record as ``solbench bound --json`` writes it, in words."""
    facts: list[tuple[str, str]] = []
    if bound.get("hardware") == "cpu":
        facts.append(("bound priced on", "this CPU's measured peaks: an estimate"))
    elif bound.get("hardware"):
        clock = f" at {bound['clock_mhz']:.0f} MHz" if bound.get("clock_mhz") else ""
        facts.append(("bound priced on", f"{bound['hardware']}{clock}"))
    if "dram_read_bytes" in bound:
        facts.append(
            (
                "demanded traffic",
                f"{fmt.size(bound['dram_read_bytes'])} read, "
                f"{fmt.size(bound['dram_write_bytes'])} written",
            )
        )
    for precision, flops in (bound.get("matrix_flops") or {}).items():
        facts.append((f"matrix work, {precision}", fmt.amount(flops, "FLOP")))
    if bound.get("capture"):
        verified = "verified in float64" if bound.get("verified") else "not verified"
        facts.append(("captured", f"{bound['capture']} rung, {verified}"))
    facts += [("assumes", text) for text in bound.get("assumptions") or ()]
    if bound.get("unknown_ops"):
        facts.append(("no rule for", ", ".join(bound["unknown_ops"])))
    if bound.get("error"):
        facts.append(("no bound", str(bound["error"])))
    return facts
