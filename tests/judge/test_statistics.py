import itertools
import math

import pytest

from solbench.judge._statistics import (
    StopRule,
    Stopwatch,
    drifted,
    median_interval,
    quantile,
)


def coverage(count: int, rank: int) -> float:
    """P(x_(rank) < median < x_(count - 1 - rank)), ranks from zero: by counting, term by term."""
    inside = range(rank + 1, count - rank)
    return sum(math.comb(count, k) for k in inside) / 2**count


@pytest.mark.parametrize("count", [6, 7, 10, 17, 30, 100])
def test_the_interval_is_the_narrowest_that_still_covers(count):
    samples = [float(value) for value in range(count)]
    interval = median_interval(samples)
    rank = int(interval.low)
    assert interval.high == count - 1 - rank
    assert coverage(count, rank) >= 0.95
    assert coverage(count, rank + 1) < 0.95


def test_published_ranks():
    # Tables of the sign test give the 8th and 17th... of 24 samples: 7 and 18 from one.
    interval = median_interval([float(value) for value in range(1, 25)])
    assert (interval.low, interval.high) == (7.0, 18.0)


def test_few_samples_give_the_extremes():
    interval = median_interval([3.0, 1.0, 2.0])
    assert (interval.median, interval.low, interval.high) == (2.0, 1.0, 3.0)
    assert median_interval([5.0]).half_width == 0.0
    with pytest.raises(ValueError, match="no samples"):
        median_interval([])


def test_order_does_not_matter():
    for order in itertools.permutations([1.0, 2.0, 5.0, 9.0]):
        assert median_interval(order) == median_interval([1.0, 2.0, 5.0, 9.0])


def test_quantiles_interpolate():
    assert quantile([0.0, 10.0], 0.05) == pytest.approx(0.5)
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([4.0], 0.95) == 4.0


class TestStopRule:
    rule = StopRule(minimum=30, least=10, maximum=50, seconds=1.0, few=3, patience=4.0)

    def test_steady_samples_end_it_at_the_minimum(self):
        assert not self.rule.done([1.0] * 29, 0.0)
        assert self.rule.done([1.0] * 30, 0.0)

    def test_noise_goes_on_to_the_maximum(self):
        noisy = [1.0, 2.0] * 25
        assert not self.rule.done(noisy[:49], 0.5)
        assert self.rule.done(noisy, 0.5)

    def test_half_a_percent_is_precise_and_more_is_not(self):
        assert self.rule.precise([1.0, 1.004] * 20)
        assert not self.rule.precise([1.0, 1.02] * 20)

    def test_25_ns_are_precise_however_short_the_call(self):
        assert self.rule.precise([1e-4, 1.4e-4] * 20)
        assert not self.rule.precise([1e-4, 1.6e-4] * 20)

    def test_time_runs_out_only_after_the_least_number(self):
        assert not self.rule.done([1.0] * 9, 1.5)
        assert self.rule.done([1.0] * 10, 1.5)

    def test_patience_ends_with_a_few(self):
        assert not self.rule.done([9.0] * 2, 100.0)
        assert self.rule.done([9.0] * 3, 4.0)


def test_the_stopwatch_reads_its_own_clock():
    ticks = iter([10.0, 12.5])
    assert Stopwatch(lambda: next(ticks)).elapsed_s == 2.5


def test_drift_is_a_change_beyond_noise():
    assert drifted([1.0, 1.01] * 10) is None
    assert drifted([1.0] * 10 + [1.2] * 10) == pytest.approx(0.2)
    assert drifted([1.0] * 10 + [0.5] * 10) == pytest.approx(-0.5)
    assert drifted([1.0] * 10 + [1.01] * 10) is None
    assert drifted([1.0] * 5 + [2.0] * 5) is None
