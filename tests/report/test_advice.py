"""What follows from an evaluation, in table and page: what binds, what the guard saw, and the next step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console

from solbench.report import evaluation_report, html_page
from solbench.spec import GuardFinding, Trace

MakeTrace = Callable[..., Trace]
SECOND = "22222222-bbbb-4bbb-8bbb-000000000002"


def changed(trace: Trace, **record: Any) -> Trace:
    assert trace.solbench is not None
    return trace.model_copy(update={"solbench": trace.solbench.model_copy(update=record)})


def memory_bound(trace: Trace, byte_count: int) -> Trace:
    bound = {
        "complete": True, "hardware": "h200", "clock_mhz": 1980.0, "matrix_flops": {},
        "dram_read_bytes": byte_count, "dram_write_bytes": 0,
    }  # fmt: skip
    return changed(trace, bound=bound, binding="dram")


def finding(rule: str, severity: Any = "warning") -> GuardFinding:
    return GuardFinding(
        rule=rule, severity=severity, file="main.py", line=3, message="looks odd", excerpt="x"
    )


def shown(traces: list[Trace]) -> str:
    console = Console(width=80, force_terminal=False)
    with console.capture() as capture:
        console.print(evaluation_report(traces))
    assert max(map(len, capture.get().splitlines())) <= 80
    return " ".join(capture.get().split())


def test_what_binds_is_told_with_the_share_of_its_peak(make_trace: MakeTrace) -> None:
    # 0.5 ms at 4.8 TB/s are 2.4 GB: 1.2 GB are half of the peak, 0.6 GB a quarter.
    half = memory_bound(make_trace(), 1_200_000_000)
    quarter = memory_bound(make_trace(SECOND), 600_000_000)
    assert "binds: dram (all workloads), 25% to 50% of its peak" in shown([half, quarter])
    assert "dram (all workloads), under 1% of its peak" in shown([memory_bound(make_trace(), 9)])
    text = shown([half, make_trace(SECOND)])
    assert "binds: dram (1 of 2 workloads), 50% of its peak" in text
    assert "binds: matrix (1 of 2 workloads)" in text


def test_a_finding_of_the_guard_is_told_once_and_a_note_is_not(make_trace: MakeTrace) -> None:
    findings = (finding("timer_access"), finding("small_thing", "note"))
    traces = [changed(make_trace(uuid), findings=findings) for uuid in ("a" * 8, "b" * 8)]
    text = shown(traces)
    assert text.count("guard: warning timer_access, main.py:3: looks odd") == 1
    assert "small_thing" not in text


def test_of_many_findings_the_first_are_told(make_trace: MakeTrace) -> None:
    findings = tuple(finding(f"rule_{number}") for number in range(8))
    text = shown([changed(make_trace(), findings=findings)])
    assert "rule_4" in text
    assert "rule_5" not in text
    assert "and 3 more; see 'solbench guard'" in text


def test_the_next_step_is_that_of_most_workloads_first(make_trace: MakeTrace) -> None:
    traces = [
        make_trace(status="RUNTIME_ERROR"),
        *(make_trace(f"{number}2222222", time_ms=0.5) for number in range(2)),
    ]
    text = shown(traces)
    first, second = text.index("→ Matrix units bind"), text.index("→ It fails")
    assert first < second
    assert "(2 of 3 workloads)" in text[first:second]


def test_the_page_says_the_same(make_trace: MakeTrace) -> None:
    trace = memory_bound(changed(make_trace(), findings=(finding("timer_access"),)), 1_200_000_000)
    page = html_page([trace])
    assert '<p class="note">guard: warning timer_access, main.py:3: looks odd</p>' in page
    assert '<p class="advice">binds: dram (all workloads), 50% of its peak</p>' in page
    assert '<p class="advice">→ Memory binds: ' in page
    assert "<dt>demanded bytes</dt><dd>2400 GB/s, 50% of peak</dd>" in page
    assert "<dt>next</dt><dd>Memory binds: " in page


def test_a_trace_without_our_key_has_no_advice_but_a_table(make_trace: MakeTrace) -> None:
    trace = make_trace().model_copy(update={"solbench": None})
    assert "binds:" not in shown([trace])
