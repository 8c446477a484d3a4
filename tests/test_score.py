import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solbench.score import (
    distance,
    failed,
    fast_p,
    geometric_mean,
    headroom_reclaimed,
    problem_score,
    sol_score,
    suite_score,
    undecidable,
)

times = st.floats(min_value=1e-6, max_value=1e6)


def test_half_at_the_baseline_and_one_at_the_bound():
    assert sol_score(4.0, 4.0, 1.0).score == 0.5
    assert sol_score(1.0, 4.0, 1.0).score == 1.0


def test_worked_by_hand():
    # (5-1) / ((2-1) + (5-1)) = 4/5; slower than the baseline: 4 / ((9-1) + 4) = 1/3
    assert sol_score(2.0, 5.0, 1.0).score == pytest.approx(0.8)
    assert sol_score(9.0, 5.0, 1.0).score == pytest.approx(1 / 3)


@pytest.mark.parametrize("baseline", [1.0, 0.5])
def test_a_baseline_not_above_the_bound_is_never_a_number(baseline):
    result = sol_score(2.0, baseline, 1.0)
    assert result.score is None
    assert result.kind == "saturated"


def test_faster_than_the_bound_is_withheld():
    result = sol_score(0.9, 4.0, 1.0)
    assert (result.score, result.kind) == (None, "faster_than_bound")
    assert sol_score(0.4, 4.0, 1.0, t_floor_ms=0.5).kind == "faster_than_bound"


def test_between_floor_and_bound_the_writes_explain_it():
    result = sol_score(0.6, 4.0, 1.0, t_floor_ms=0.5)
    assert (result.score, result.kind) == (1.0, "write_absorbed")


def test_without_a_bound_there_is_no_score():
    assert sol_score(1.0, 2.0, None).kind == "no_bound"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_nonsense_times_are_refused(bad):
    with pytest.raises(ValueError, match="not a time"):
        sol_score(bad, 1.0, 0.5)


@given(bound=times, over=times, first=times, second=times)
def test_a_faster_solution_never_scores_lower(bound, over, first, second):
    fast, slow = sorted((first, second))
    quick = sol_score(bound + fast, bound + over, bound)
    slower = sol_score(bound + slow, bound + over, bound)
    if quick.score is not None and slower.score is not None:
        assert 0 < slower.score <= quick.score <= 1


@given(bound=times, over=times, time=times)
def test_score_is_algebra_of_the_headroom(bound, over, time):
    baseline, measured = bound + over, bound + time
    score = sol_score(measured, baseline, bound).score
    if score is not None:
        headroom = headroom_reclaimed(measured, baseline, bound)
        assert score == pytest.approx(1 / (2 - headroom), rel=1e-6)


def test_problem_mean_counts_failures_as_zero():
    result = problem_score([sol_score(2.0, 5.0, 1.0), failed("TIMEOUT"), sol_score(5.0, 5.0, 1.0)])
    assert result.score == pytest.approx((0.8 + 0 + 0.5) / 3)
    assert (result.scored, result.failed, result.left_out) == (3, 1, 0)


def test_saturated_workloads_are_left_out_and_counted():
    result = problem_score([sol_score(2.0, 5.0, 1.0), sol_score(2.0, 1.0, 1.0)])
    assert result.score == pytest.approx(0.8)
    assert (result.scored, result.left_out) == (1, 1)
    assert problem_score([sol_score(2.0, 1.0, 1.0)]).score is None


def test_one_workload_below_the_bound_withholds_the_problem():
    result = problem_score([sol_score(0.1, 5.0, 1.0), sol_score(1.0, 5.0, 1.0)])
    assert result.score is None
    assert result.withheld


def test_being_withheld_never_raises_the_suite():
    good = problem_score([sol_score(2.0, 5.0, 1.0)])
    poor = problem_score([failed("x")])
    forged = problem_score([sol_score(0.1, 5.0, 1.0)])
    assert suite_score([good, forged]).score == suite_score([good, poor]).score
    assert suite_score([good, forged]).denominator == 2
    assert suite_score([good, forged]).withheld == 1


def test_suite_leaves_out_what_nobody_can_score():
    good = problem_score([sol_score(2.0, 5.0, 1.0)])
    suite = suite_score([good, problem_score([sol_score(2.0, 1.0, 1.0)])])
    assert (suite.score, suite.denominator) == (pytest.approx(0.8), 1)
    assert suite_score([]).score is None


def test_other_aggregates():
    assert headroom_reclaimed(3.0, 5.0, 1.0) == 0.5
    with pytest.raises(ValueError, match="no headroom"):
        headroom_reclaimed(3.0, 1.0, 1.0)
    assert distance(3.0, 2.0) == 1.5
    assert fast_p([0.5, 1.0, 2.0, None], 1.0) == 0.25
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="geometric"):
        geometric_mean([1.0, 0.0])


def test_undecidable_when_noise_exceeds_its_share_of_the_headroom():
    assert undecidable(2.0, 3.5, 5.0, 1.0)
    assert not undecidable(2.0, 2.5, 5.0, 1.0)
