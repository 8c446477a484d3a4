"""Repeating a verdict, and two solutions side by side: the rules, and once with real workers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from solbench.errors import InputError
from solbench.judge import Budget, Interval, Judge, StopRule
from solbench.judge._clocks import Clocks
from solbench.judge._compare import Pairs, _rule, _worker_pairs, comparison_of, outcome_of, ratio_of
from solbench.judge._evaluate import EvaluationRun
from solbench.judge._measurement import Measurement
from solbench.judge._replay import replay_of, replay_result
from solbench.judge._request import Case
from solbench.judge._samples import Series
from solbench.judge._seeds import MOST_AUDITS, SeedBook
from solbench.spec import Problem, Solution, Trace

BRIEF = StopRule(minimum=10, least=4, few=4, seconds=0.05, relative=0.05)


def submission(content: str) -> Solution:
    return Solution.model_validate(
        {
            "name": "submission",
            "definition": "scale",
            "author": "tests",
            "spec": {
                "languages": ["pytorch"],
                "target_hardware": ["LOCAL"],
                "entry_point": "s.py::run",
            },
            "sources": [{"path": "s.py", "content": content}],
        }
    )


GOOD = submission("import torch\ndef run(x, scale, y):\n    torch.mul(x, scale, out=y)\n")
SLOW = submission(
    "import time, torch\ndef run(x, scale, y):\n    torch.mul(x, scale, out=y)\n    time.sleep(0.05)\n"
)
OFF = submission("def run(x, scale, y):\n    y.copy_(x * scale)\n    y[5] += 1\n")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge("cpu", budgets={"reward": Budget(BRIEF, BRIEF)}) as judge:
        yield judge


def with_digests(trace: Trace, **digests: str) -> Trace:
    assert trace.solbench is not None
    record = trace.solbench.model_copy(update={"digests": {**trace.solbench.digests, **digests}})
    return trace.model_copy(update={"solbench": record})


@pytest.mark.xdist_group("judge_process")
def test_a_verdict_is_repeated_from_its_seeds_and_a_changed_trace_is_refused(
    judge: Judge, scale_problem: Callable[..., Problem]
) -> None:
    # No element may be off.
    problem = scale_problem(required_matched_ratio=1.0)
    (trace,) = judge.evaluate(problem, OFF).traces
    replay = judge.replay(trace, problem, OFF)
    assert replay.same
    assert replay.trace.solbench is not None and trace.solbench is not None
    assert replay.trace.solbench.digests["seeds"] == trace.solbench.digests["seeds"]
    assert replay.trace.solbench.failure == trace.solbench.failure
    assert replay.trace.solbench.failure["index"] == [5]
    for changed, key in (
        (with_digests(trace, seeds_opening="00" * 32), "seeds_opening"),
        (with_digests(trace, seeds_opening="secret"), "seeds_opening"),
        (with_digests(trace, definition="0" * 64), "definition"),
    ):
        with pytest.raises(InputError, match=key):
            judge.replay(changed, problem, OFF)
    with pytest.raises(InputError, match="another solution"):
        judge.replay(trace, problem, GOOD)
    endless = trace.solbench.model_copy(update={"calls": 10**12})
    with pytest.raises(InputError, match="more than an evaluation makes"):
        judge.replay(trace.model_copy(update={"solbench": endless}), problem, OFF)


@pytest.mark.xdist_group("judge_process")
def test_the_faster_of_two_is_told_and_one_that_fails_is_not_compared(
    judge: Judge, scale_problem: Callable[..., Problem]
) -> None:
    (comparison,) = judge.compare(scale_problem(), GOOD, SLOW)
    assert comparison.outcome == "first", comparison
    assert comparison.ratio is not None
    assert comparison.ratio.low > 1
    # Six pairs of workers, or one where the machine takes more than a second to start a worker.
    assert comparison.workers in (1, 6)
    assert comparison.samples >= comparison.workers * BRIEF.few
    (comparison,) = judge.compare(scale_problem(required_matched_ratio=1.0), OFF, GOOD)
    assert comparison.outcome == "not_compared"
    assert (comparison.first.status, comparison.second.status) == ("INCORRECT_NUMERICAL", "PASSED")


@pytest.mark.parametrize(
    ("workers", "more", "quick", "pairs"),
    [(1, 0, True, 6), (1, 0, False, 1), (3, 9, True, 12), (3, 9, False, 3)],
)
def test_pairs_of_workers_are_six_at_least_where_they_start_quickly(
    workers: int, more: int, quick: bool, pairs: int
) -> None:
    budget = Budget(BRIEF, BRIEF, workers=workers, more_workers=more)
    sides = [cast("EvaluationRun", SimpleNamespace(starts_quickly=each)) for each in (True, quick)]
    assert _worker_pairs(*sides, budget) == pairs


def test_workers_after_the_first_share_what_an_evaluation_takes() -> None:
    rule = StopRule(minimum=30, least=10, few=3, seconds=0.6)
    assert _rule(Budget(rule, rule), 1) == rule
    later = _rule(Budget(rule, rule), 2)
    assert (later.minimum, later.least, later.seconds) == (6, 3, pytest.approx(0.1))
    assert _rule(Budget(rule, rule, workers=3, more_workers=9), 2).seconds == 0.6


def test_workers_count_alike_and_too_few_of_them_leave_the_samples() -> None:
    # One worker of seven shows the difference in many samples; the others, with one sample each, do not.
    found = ratio_of([[1.4] * 50, [1.0], [1.01], [0.99], [1.02], [0.98], [1.0]])
    assert found == Interval(1.0, 0.98, 1.4)
    assert ratio_of([[1.4] * 50, [1.0]]) == Interval(1.4, 1.4, 1.4)


def test_a_difference_that_one_pair_of_six_does_not_show_is_a_tie(
    scale_problem: Callable[..., Problem],
) -> None:
    workload = scale_problem().workloads[0]
    ours, theirs = (
        Case(0, workload, "no bound", SeedBook(), Measurement(Clocks(Series([1.0])))) for _ in "ab"
    )
    by_workers = [Pairs([ratio] * 20) for ratio in (1.03, 1.04, 1.02, 1.05, 1.02, 0.99)]
    compared = comparison_of(ours, theirs, by_workers)
    assert (compared.outcome, compared.workers, compared.samples) == ("tie", 6, 120)
    compared = comparison_of(ours, theirs, [*by_workers[:5], Pairs([1.01] * 20)])
    assert (compared.outcome, compared.ratio) == ("first", Interval(1.025, 1.01, 1.05))


@pytest.mark.parametrize(
    ("ratio", "first_ms", "outcome"),
    [
        (Interval(1.10, 1.05, 1.15), 1.0, "first"),
        (Interval(0.90, 0.85, 0.95), 1.0, "second"),
        (Interval(1.10, 0.99, 1.20), 1.0, "tie"),  # the interval holds 1
        (Interval(1.009, 1.008, 1.010), 1.0, "tie"),  # within one per cent
        (Interval(1.05, 1.04, 1.06), 0.001, "tie"),  # 50 ns of a microsecond
        (Interval(1.20, 1.15, 1.25), 0.001, "first"),  # 200 ns
    ],
)
def test_a_difference_counts_beyond_its_interval_and_beyond_noise(
    ratio: Interval, first_ms: float, outcome: str
) -> None:
    assert outcome_of(ratio, first_ms) == outcome


def test_a_sample_within_the_floor_is_compared_too() -> None:
    pairs = Pairs()
    first, second = Series(), Series()
    for ours, theirs in ((0.0, 2.0), (0.0, 0.0), (0.5, 0.25)):
        first.add(ours)
        second.add(theirs)
        pairs.add(first, second)
    assert pairs.counted == pytest.approx([2e6, 1.0, 0.5])
    assert outcome_of(Interval(2e6, 1e6, 3e6), 0.0) == "first"


def test_the_audited_calls_are_the_first_and_a_secret_one_of_each_octave() -> None:
    books = [SeedBook(bytes([number]) * 32) for number in range(32)]
    for book in books:
        audited = [call for call in range(2**MOST_AUDITS * 2) if book.is_audited(call)]
        assert audited[0] == 0
        assert [call.bit_length() - 1 for call in audited[1:]] == list(range(1, MOST_AUDITS))
    assert len({tuple(filter(book.is_audited, range(64))) for book in books}) > 16


def test_half_of_the_calls_are_varied_and_the_first_is_not() -> None:
    book = SeedBook(b"v" * 32)
    kinds = [book.variation(call, ("scale", "sign")) for call in range(400)]
    assert kinds[0] == ""
    assert {"scale", "sign", ""} == set(kinds)
    assert 140 < kinds.count("") < 260
    assert book.variation(7, ()) == ""


def test_a_few_calls_have_one_kind_of_other_values_after_the_other() -> None:
    kinds = ("scale", "sign")
    for book in (SeedBook() for _ in range(20)):
        pairs = (
            {book.variation(call, kinds) for call in (2, 3)},
            {book.variation(call, kinds) for call in (4, 5, 6, 7)},
        )
        assert sorted(kind for pair in pairs for kind in pair) == ["scale", "sign"]


def test_differences_of_verdicts_are_told_in_words(make_trace: Callable[..., Trace]) -> None:
    passed, failed = make_trace(status="PASSED"), make_trace(status="TIMEOUT")
    assert replay_result(passed, failed).differences == ("the status was PASSED and is TIMEOUT",)
    assert replay_result(passed, passed).same


def test_a_trace_without_seeds_cannot_be_repeated(
    make_trace: Callable[..., Trace], scale_problem: Callable[..., Problem]
) -> None:
    with pytest.raises(InputError, match="tells no seeds"):
        replay_of(make_trace(), scale_problem(), GOOD)


def test_a_commitment_is_the_hash_of_its_opening() -> None:
    book: Any = SeedBook()
    assert hashlib.sha256(bytes.fromhex(book.opening)).hexdigest() == book.commitment
