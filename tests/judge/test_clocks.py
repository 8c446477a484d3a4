"""Which clock ranks: numbers a call in microseconds, as three clocks could show them."""

from __future__ import annotations

import pytest

from solbench.judge._calls import Outcome
from solbench.judge._clocks import EARLY, OVERLAPS, Clocks
from solbench.judge._floor import TimerFloor
from solbench.judge._samples import Series
from solbench.judge._sampling import PerRun, Slope

FLOOR = TimerFloor(run_ms=0.148, call_ms=0.002)


def clocks(queued_us: float, alone_us: float, sampled_us: float, samples: int = 6) -> Clocks:
    made = Clocks()
    for _ in range(samples):
        made.queued.add(queued_us / 1e3)
        made.single.add(alone_us / 1e3)
        made.sampled.add(sampled_us / 1e3)
    return made


@pytest.mark.parametrize(
    ("queued_us", "alone_us", "sampled_us"),
    [
        (2.1, 2.1, 2.2),
        (5.3, 8.4, 5.4),  # three kernels, whose code is cold in a call alone
        (7.1, 8.5, 7.3),
        (172.9, 189.0, 173.3),
        (35.5, 31.0, 36.7),  # alone it may be shorter
        (14.0, 22.3, 14.2),  # what a run costs has moved since it was measured
    ],
)
def test_what_honest_kernels_show_leaves_the_precise_clock(queued_us, alone_us, sampled_us):
    honest = clocks(queued_us, alone_us, sampled_us)
    assert honest.choose() == {}
    assert honest.ranking is honest.queued


@pytest.mark.parametrize(("queued_us", "alone_us"), [(0.05, 12.0), (2.0, 30.0), (100.0, 130.0)])
def test_calls_that_share_work_are_ranked_by_a_call_alone(queued_us, alone_us):
    sharing = clocks(queued_us, alone_us, queued_us)
    flags = sharing.choose()
    assert list(flags) == [OVERLAPS]
    assert f"{alone_us:.3g} us for a call alone" in flags[OVERLAPS]
    assert sharing.ranking is sharing.single


def test_a_word_before_the_work_is_done_is_overruled_by_the_look_at_the_outputs():
    forging = clocks(2.0, 2.0, 10.0)
    flags = forging.choose()
    assert list(flags) == [EARLY]
    assert forging.ranking is forging.sampled


def test_too_few_looks_say_nothing():
    assert clocks(2.0, 2.0, 10.0, samples=5).choose() == {}


def test_a_look_at_few_calls_is_allowed_its_own_spread():
    # 33 us of spread over 4 calls is 8 us a call
    few = clocks(20.0, 20.0, 29.0)
    few.calls_between = 4
    assert few.choose() == {}
    few.calls_between = 40
    assert list(few.choose()) == [EARLY]


def test_the_choice_is_made_anew_with_more_samples():
    made = clocks(2.0, 30.0, 2.0)
    assert OVERLAPS in made.choose()
    for _ in range(40):
        made.single.add(2.0 / 1e3)
    assert made.choose() == {}
    assert made.ranking is made.queued


def test_one_slow_call_alone_does_not_tell():
    made = clocks(4.0, 4.5, 4.0)
    for alone_us in (30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0):
        made.single.add(alone_us / 1e3)
    # the median is 30 us, its interval begins at 4.5 us
    assert made.choose() == {}


def test_where_the_host_starts_each_call_only_a_call_alone_counts():
    made = clocks(32.0, 236.0, 30.0)
    assert made.choose(queued=False) == {}
    assert made.ranking is made.single


def test_one_sample_feeds_all_three():
    # fixed cost 148 us by the word and 340 us by the look; 5 us a call, 6 us alone
    made = Clocks()
    runs = {
        1: Outcome(latency_ms=0.154, sampled_ms=0.346),
        8: Outcome(latency_ms=0.188 / 8, sampled_ms=0.380 / 8),
        48: Outcome(latency_ms=0.388 / 48, sampled_ms=0.580 / 48, lost_share=0.5),
    }
    made.add(runs, Slope(), FLOOR)
    for series, expected in ((made.queued, 0.005), (made.single, 0.006), (made.sampled, 0.005)):
        ((lost_share, latency_ms),) = series.disturbed
        assert lost_share == 0.5  # of the worst run
        assert latency_ms == pytest.approx(expected)


def test_a_device_with_one_clock_has_only_that():
    made = Clocks(queued=Series())
    made.add({8: Outcome(latency_ms=1.0)}, PerRun(), TimerFloor(0.0, 0.0))
    assert (len(made.queued), len(made.single), len(made.sampled)) == (1, 0, 0)
    assert made.choose() == {}


def test_a_call_alone_is_also_timed_by_the_look_less_what_the_look_costs():
    made = Clocks()
    floor = TimerFloor(run_ms=0.148, call_ms=0.002, look_ms=0.33)
    made.add_alone(Outcome(latency_ms=0.150, sampled_ms=0.43), floor)
    made.add_alone(Outcome(latency_ms=0.150, sampled_ms=0.2), floor)  # never below nothing
    assert made.looked.kept == pytest.approx([0.1, 0.0])


def test_work_on_streams_that_are_not_joined_is_ranked_by_the_look_at_a_call_alone():
    # 93 us a call queued; alone the word comes at once, and the outputs are there after 122 us
    made = clocks(queued_us=93.0, alone_us=3.0, sampled_us=93.0)
    for _ in range(6):
        made.looked.add(0.122)
    flags = made.choose()
    assert "122 us for a call alone" in flags[OVERLAPS]
    assert made.ranking is made.looked


@pytest.mark.parametrize("looked_us", [2.0, 9.9])
def test_the_look_allows_what_it_cannot_tell(looked_us):
    made = clocks(queued_us=2.0, alone_us=2.0, sampled_us=2.0)
    for _ in range(6):
        made.looked.add(looked_us / 1e3)
    assert made.choose() == {}
    assert not made.in_question


def test_looks_are_in_question_when_their_median_alone_is_late():
    made = clocks(queued_us=93.0, alone_us=3.0, sampled_us=93.0)
    for looked_us in (100.0, 122.0, 122.0, 122.0):
        made.looked.add(looked_us / 1e3)
    assert made.in_question
    assert made.choose() == {}
