"""Terminal tables: complete, and no wider than 80 columns."""

from collections.abc import Callable

import pytest
from rich.console import Console, RenderableType

from solbench.judge import Comparison, Interval, Side
from solbench.report import (
    by_solution,
    comparison_report,
    distance,
    evaluation_report,
    evaluation_table,
    overview_table,
    summarise,
)
from solbench.report._tables import failure_sentence, log_lines, note_lines
from solbench.spec import Trace

MakeTrace = Callable[..., Trace]


def shown(renderable: RenderableType, width: int = 80) -> list[str]:
    console = Console(width=width, record=True, file=None, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get().splitlines()


def test_an_evaluation_fits_80_columns_even_with_long_names_and_axes(make_trace: MakeTrace) -> None:
    axes = {"batch_size": 64, "num_key_value_heads": 128, "sequence_length": 131072}
    trace = make_trace(
        axes=axes, status="INCORRECT_NUMERICAL", definition="d" * 70, solution="s" * 70
    )
    assert max(map(len, shown(evaluation_report([trace])))) <= 80
    assert max(map(len, shown(evaluation_table([make_trace(axes=axes)])))) <= 80


def test_no_number_is_cut_at_80_columns(make_trace: MakeTrace) -> None:
    text = "\n".join(shown(evaluation_table([make_trace()])))
    assert "…" not in text
    for part in ("PASSED", "500 µs ±1.0%", "100 µs", "5.00×", "0.690", "matrix"):
        assert part in text


def test_a_failure_says_where_expected_got_and_how_much(sample_run: list[Trace]) -> None:
    text = " ".join(shown(evaluation_report(sample_run[2:])))
    assert "y[3, 17]: expected 0.125, got 0.5" in text
    assert "25% of elements off" in text.replace("  ", " ")
    assert "ValueError: no" in text


def test_a_failure_without_a_place_still_reads_well() -> None:
    assert failure_sentence({"output": "y", "share_off": 1.0}) == "y; 100% of elements off"


def test_a_flag_on_every_workload_is_said_once(sample_run: list[Trace]) -> None:
    assert note_lines(sample_run[:2]) == [
        "flag jail_incomplete (all workloads): landlock: the kernel lacks it"
    ]


def test_a_passed_workload_without_a_score_says_why(make_trace: MakeTrace) -> None:
    notes = note_lines([make_trace(score=None), make_trace("other")])
    assert notes == ["no score (1 of 2 workloads): against the provisional baseline"]


def test_markup_in_names_is_not_interpreted(make_trace: MakeTrace) -> None:
    text = " ".join(shown(evaluation_report([make_trace(solution="[bold]x[/bold]")])))
    assert "[bold]x[/bold]" in text
    overview = " ".join(shown(overview_table([summarise([make_trace(solution="[red]")])])))
    assert "[red]" in overview


def test_the_summary_takes_geometric_means_and_counts_failures_as_zero(
    make_trace: MakeTrace,
) -> None:
    traces = [
        make_trace("a", time_ms=1.0, reference_ms=2.0, t_sol_ms=0.5, score=0.8),
        make_trace("b", time_ms=1.0, reference_ms=8.0, t_sol_ms=0.125, score=0.4),
        make_trace("c", status="TIMEOUT"),
    ]
    summary = summarise(traces)
    assert (summary.passed, summary.workloads) == (2, 3)
    assert summary.speedup == pytest.approx(4.0)  # sqrt(2 * 8)
    assert summary.distance == pytest.approx(4.0)  # sqrt(2 * 8)
    assert summary.score == pytest.approx(0.4)  # (0.8 + 0.4 + 0) / 3


def test_one_workload_faster_than_its_bound_withholds_the_score(make_trace: MakeTrace) -> None:
    flag = {"id": "faster_than_bound", "evidence": "0.05 ms < 0.1 ms"}
    summary = summarise([make_trace("a", score=None, flags=(flag,)), make_trace("b")])
    assert summary.withheld
    assert summary.score is None


def test_the_last_trace_of_a_workload_counts(make_trace: MakeTrace) -> None:
    groups = by_solution([make_trace(time_ms=1.0), make_trace(time_ms=0.5)])
    (traces,) = groups.values()
    assert [trace.solbench.timing.median_ms for trace in traces] == [0.5]


def test_of_many_causes_the_first_are_told_in_full(make_trace: MakeTrace) -> None:
    traces = [make_trace(f"w{n}", status="TIMEOUT", log=f"stuck at {n}") for n in range(8)]
    text = "\n".join(shown(evaluation_report(traces)))
    assert text.count("✗") == 5
    assert "and 3 more failures" in text


def test_a_cause_that_several_workloads_share_is_told_once(make_trace: MakeTrace) -> None:
    traces = [make_trace(f"w{n}", status="RUNTIME_ERROR", log="no triton") for n in range(5)]
    text = "\n".join(shown(evaluation_report([*traces, make_trace("w5", status="TIMEOUT")])))
    assert "✗ w0, w1, w2 and 2 more RUNTIME_ERROR\n    no triton\n✗ w5 TIMEOUT" in text


def test_a_log_names_files_as_the_submission_does(make_trace: MakeTrace) -> None:
    log = (
        '  File "<frozen importlib._bootstrap>", line 241, in _call_with_frames_removed\n'
        f'  File "/home/me/.cache/solbench/artifacts/{"0f" * 32}/sub/kernel.py", line 3, in run\n'
        "ValueError: no"
    )
    lines = log_lines(make_trace(status="RUNTIME_ERROR", log=log))
    assert lines == ['  File "sub/kernel.py", line 3, in run', "ValueError: no"]


def test_the_words_no_score_are_said_once(make_trace: MakeTrace) -> None:
    trace = make_trace(score=None)
    record = trace.solbench.model_copy(update={"score_note": "no score: the bound is not complete"})
    notes = note_lines([trace.model_copy(update={"solbench": record})])
    assert notes == ["no score (all workloads): the bound is not complete"]


def test_a_time_that_the_timer_floor_covers_is_no_time(make_trace: MakeTrace) -> None:
    trace = make_trace(score=None)
    timing = trace.solbench.timing.model_copy(
        update={"median_ms": 0.0, "ci_low_ms": 0.0, "ci_high_ms": 0.0, "timer_floor_ms": 0.002}
    )
    record = trace.solbench.model_copy(update={"timing": timing})
    covered = trace.model_copy(update={"solbench": record})
    assert "< 2.00 µs" in "\n".join(shown(evaluation_table([covered])))
    assert distance(covered) is None
    assert summarise([covered]).distance is None


def test_a_reference_that_the_timer_floor_covers_gives_no_speed_up(make_trace: MakeTrace) -> None:
    assert summarise([make_trace(reference_ms=0.0)]).speedup is None


def test_two_solutions_stand_side_by_side_with_units_and_names() -> None:
    ratio = Interval(median=1.056, low=0.534, high=1.356)
    time = Interval(median=0.2131, low=0.2, high=0.22)
    passed, wrong = Side("PASSED", timing=time), Side("INCORRECT_NUMERICAL", "zeros")
    found = [
        Comparison("35e3894a-6188", "tie", passed, passed, ratio, 32),
        Comparison("051dc668-6188", "not_compared", Side("PASSED"), wrong),
    ]
    text = "\n".join(shown(comparison_report(found, "norm", "fast", "slow")))
    for part in (
        "norm   A fast   B slow", "213 µs", "0.534 to 1.36", "tie", "✗ 051dc668 B INCORRECT_NUMERICAL: zeros",
        "in doubt on 1 of 2 workloads",
    ):  # fmt: skip
        assert part in text
