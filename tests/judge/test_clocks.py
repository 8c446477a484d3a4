"""Which clock ranks: numbers a call in microseconds, as two clocks could show them."""

from __future__ import annotations

import pytest

from solbench.judge._calls import Outcome
from solbench.judge._clocks import EARLY, OVERLAPS, Clocks
from solbench.judge._floor import TimerFloor
from solbench.judge._samples import Series
from solbench.judge._sampling import PerRun, Slope

FLOOR = TimerFloor(run_ms=0.148, call_ms=0.002, look_ms=0.294)


def clocks(
    word_us: float,
    look_us: float,
    alone_us: float,
    samples: int = 6,
    alone_word_us: float = 0.0,
    workers: int = 4,
) -> Clocks:
    """Of so many workers, the last of which has the lowest costs."""
    made = Clocks(alone=[Series([(alone_us + 4.5) / 1e3] * 6) for _ in range(workers)])
    made.alone[-1] = Series()
    for _ in range(samples):
        made.by_word.add(word_us / 1e3)
        made.by_look.add(look_us / 1e3)
        made.alone[-1].add(alone_us / 1e3)
        made.alone_by_word.add((alone_word_us or alone_us) / 1e3)
    return made


@pytest.mark.parametrize(
    ("word_us", "look_us", "alone_us"),
    [
        # as measured on an H200: docs/timing.md
        (2.11, 2.13, 2.6),
        (17.69, 17.71, 17.6),
        (32.25, 32.28, 31.1),
        (12.41, 12.47, 10.7),
        (34.71, 34.82, 35.6),
        (6.99, 7.00, 6.5),
        (99.0, 99.0, 105.9),
    ],
)
def test_what_honest_kernels_show_is_ranked_by_the_look(word_us, look_us, alone_us):
    honest = clocks(word_us, look_us, alone_us)
    assert honest.choose() == {}
    assert honest.ranking is honest.by_look
    assert honest.doubt() == ""
    assert not honest.alone_ranks


def test_a_word_that_is_later_than_the_look_ranks_since_copy_engines_do_not_take_turns():
    copying = clocks(40.0, 30.0, 30.0)
    assert copying.choose() == {}
    assert copying.ranking is copying.by_word


def test_a_call_that_is_longer_alone_loses_what_is_beyond_the_slack():
    # cold code of seven kernels: 39.3 us and 5 % and 2 us are 43.3 us
    cold = clocks(39.3, 39.3, 46.2)
    assert cold.choose() == {}
    assert cold.ranking.kept == pytest.approx([(46.2 - 2) / 1.05 / 1e3] * 6)
    assert cold.alone_ranks
    assert cold.doubt() == ""


def test_by_one_worker_a_run_may_cost_more_than_is_known():
    # 39.3 us and 5 %, 2 us, and 4.5 for the mode of the worker: 47.8
    one = clocks(39.3, 39.3, 47.7, workers=1)
    assert one.choose() == {}
    assert one.ranking is one.by_look
    cold = clocks(39.3, 39.3, 49.0, workers=1)
    assert cold.choose() == {}
    assert cold.ranking.kept == pytest.approx([(49.0 - 6.5) / 1.05 / 1e3] * 6)
    # 10 %, 4 us and 4.5: 51.7
    assert list(clocks(39.3, 39.3, 51.8, workers=1).choose()) == [OVERLAPS]


def test_short_calls_of_one_worker_are_in_doubt_where_its_mode_could_hide_what_they_share():
    assert clocks(3.0, 3.0, 4.2, workers=1).doubt() == ""
    assert "share work" in clocks(3.0, 3.0, 7.5, workers=1).doubt()


def test_each_worker_has_calls_alone_of_its_own():
    made = Clocks()
    made.next_worker()  # the first
    assert len(made.alone) == 1
    made.alone[0].add(0.010)
    made.next_worker()
    assert len(made.alone) == 2


def test_a_short_call_that_is_longer_alone_is_in_doubt_too():
    # 5 us alone: 1.05 x 1 us and 2 us are 3.05; 2.86 us are ranked, which leave 4.1 for a call alone
    sharing = clocks(1.0, 1.0, 5.0)
    assert sharing.choose() == {}
    assert sharing.ranking.kept == pytest.approx([(5 - 2) / 1.05 / 1e3] * 6)
    assert "5 us for a call alone" in sharing.doubt()


@pytest.mark.parametrize(("queued_us", "alone_us"), [(0.05, 12.0), (2.0, 30.0), (93.0, 117.5)])
def test_calls_that_share_work_are_ranked_alone_with_what_that_may_hide(queued_us, alone_us):
    sharing = clocks(queued_us, queued_us, alone_us)
    flags = sharing.choose()
    assert list(flags) == [OVERLAPS]
    assert f"{alone_us:.3g} us for a call alone" in flags[OVERLAPS]
    assert sharing.ranking.kept == pytest.approx([(alone_us + 4) / 1e3] * 6)
    assert sharing.alone_ranks


def test_what_only_the_word_of_a_call_alone_waits_for_is_seen_more_coarsely():
    # the look misses what a copy engine does: 20 us alone by the look, by the word 40
    assert clocks(30.0, 20.0, 20.0, alone_word_us=40.0).choose() == {}
    sharing = clocks(20.0, 20.0, 20.0, alone_word_us=40.0)
    assert list(sharing.choose()) == [OVERLAPS]
    assert sharing.ranking is sharing.alone_by_word


def test_a_word_before_the_work_is_done_is_overruled_by_the_look():
    forging = clocks(2.0, 10.0, 10.0)
    flags = forging.choose()
    assert list(flags) == [EARLY]
    assert forging.ranking is forging.by_look


def test_a_forged_word_does_not_undo_what_a_call_alone_shows():
    # 40 us queued by the look, 47 alone: 44 need no thought, 48 are no flag
    forging = clocks(0.1, 40.0, 47.0, alone_word_us=0.1)
    assert list(forging.choose()) == [EARLY]
    assert forging.ranking.kept == pytest.approx([(47.0 - 2) / 1.05 / 1e3] * 6)


def test_too_few_looks_accuse_no_one_and_rank_all_the_same():
    few = clocks(2.0, 10.0, 20.0, samples=5, workers=1)
    assert few.choose() == {}
    assert few.ranking is few.by_look
    assert "none was timed alone" in clocks(2.0, 2.0, 2.0, samples=5, workers=1).doubt()


def test_a_look_that_waited_for_the_word_ranks_only_where_that_cannot_explain_it():
    # 70 us over 40 calls are 1.75 us a call
    late = clocks(20.0, 23.0, 20.0)
    late.looked_at_once = False
    assert late.choose() == {}
    assert late.ranking is late.by_word
    later = clocks(20.0, 23.1, 20.0)
    later.looked_at_once = False
    assert list(later.choose()) == [EARLY]
    assert later.ranking is later.by_look


def test_the_choice_is_made_anew_with_more_samples():
    made = clocks(2.0, 2.0, 30.0)
    assert OVERLAPS in made.choose()
    for _ in range(40):
        made.alone[-1].add(2.0 / 1e3)
        made.alone_by_word.add(2.0 / 1e3)
    assert made.choose() == {}
    assert made.ranking is made.by_look


def test_one_slow_call_alone_accuses_no_one():
    made = clocks(4.0, 4.0, 4.5, workers=1)
    for alone_us in (30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0):
        made.alone[-1].add(alone_us / 1e3)
    # the median is 30 us, its interval begins at 4.5 us
    assert made.choose() == {}
    assert made.in_question
    assert made.ranked == "alone less slack"
    assert "30 us for a call alone" in made.doubt()  # 22.4 us are ranked, which leave 25.6


@pytest.mark.parametrize(("alone_us", "doubted"), [(6.4, False), (6.6, True)])
def test_short_calls_could_hide_in_what_is_allowed_and_are_then_in_doubt(alone_us, doubted):
    made = clocks(5.0, 5.0, alone_us)  # 10 % and 1 us: up to 6.5
    assert made.choose() == {}
    assert bool(made.doubt()) == doubted


def test_where_the_host_starts_each_call_only_a_call_alone_counts():
    made = clocks(32.0, 30.0, 236.0)
    assert made.choose(queued=False) == {}
    assert made.ranking is made.alone_by_word


def test_one_sample_feeds_all_four():
    # fixed cost 148 us by the word and 294 us by the look; 5 us a call, 6 us alone
    made = Clocks()
    runs = {
        1: Outcome(latency_ms=0.154, looked_ms=0.300, looked_at_once=True),
        8: Outcome(latency_ms=0.188 / 8, looked_ms=0.334 / 8, looked_at_once=True),
        48: Outcome(latency_ms=0.388 / 48, looked_ms=0.534 / 48, lost_share=0.5),
    }
    made.add(runs, Slope(), FLOOR)
    for series, expected, lost in (
        (made.by_word, 0.005, 0.5),  # of the worst run
        (made.by_look, 0.005, 0.5),
        (made.alone_by_word, 0.006, 0.5),
        (made.alone_by_look, 0.006, 0.0),  # its own run was not disturbed
    ):
        samples = series.disturbed or [(0.0, each) for each in series.kept]
        ((lost_share, latency_ms),) = samples
        assert lost_share == lost
        assert latency_ms == pytest.approx(expected)
    assert made.looked_at_once  # the run that was not does not count
    assert not made.runs_of_one


def test_one_call_at_a_time_is_timed_by_what_a_run_takes_beyond_its_cost():
    made = Clocks()
    for _ in range(6):
        runs = {1: Outcome(latency_ms=0.148 + 0.203, looked_ms=0.294 + 0.2, looked_at_once=True)}
        made.add(runs, Slope(), FLOOR)
    assert made.choose() == {}
    assert made.ranking is made.by_look
    assert made.ranking.kept == pytest.approx([0.2] * 6)
    assert made.alone_ranks
    assert made.doubt() == ""


def test_a_device_with_one_clock_has_only_that():
    made = Clocks(by_word=Series())
    made.add({8: Outcome(latency_ms=1.0)}, PerRun(), TimerFloor(0.0, 0.0))
    assert [len(each) for each in (made.by_word, made.by_look, made.alone_by_look)] == [1, 0, 0]
    assert made.choose() == {}
    assert made.precise is made.by_word
    assert made.doubt() == ""


def test_a_call_alone_is_never_shorter_than_nothing():
    made = Clocks()
    made.add_alone(Outcome(latency_ms=0.150, looked_ms=0.2, looked_at_once=True), FLOOR)
    assert made.alone_by_look.kept == [0.0]


def test_looks_are_in_question_when_their_median_alone_is_late():
    made = clocks(93.0, 93.0, 93.0, samples=1, workers=1)
    for looked_us in (100.0, 122.0, 122.0, 122.0):
        made.alone[-1].add(looked_us / 1e3)
    assert made.in_question
    assert made.choose() == {}
