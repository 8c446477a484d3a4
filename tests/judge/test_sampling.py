from solbench.judge._floor import NO_FLOOR, TimerFloor
from solbench.judge._sampling import PerRun, Slope


def test_a_run_of_short_calls_is_batched_to_a_tenth_of_a_millisecond():
    assert PerRun().batch(0.04, slots=16) == 3  # 3 x 0.04 = 0.12 ms
    assert PerRun().batch(5.0, slots=16) == 1
    assert PerRun().batch(0.001, slots=16) == 16  # no more than there are slots


def test_calls_too_short_to_see_fill_every_slot():
    assert PerRun().batch(0.0, slots=16) == 16
    assert Slope().batch(0.0, slots=128) == 64  # the longer run takes twice as many


def test_the_floor_of_an_empty_run_is_subtracted_once_a_run():
    floor = TimerFloor(run_ms=0.08, call_ms=0.01)
    # 4 calls in 0.4 ms: 0.1 each, less 0.01 a call and a quarter of 0.08
    assert PerRun().latency_ms({4: 0.1}, floor) == 0.1 - 0.01 - 0.02


def test_the_slope_is_free_of_any_cost_per_run():
    def run_ms(calls):
        return 0.175 + 0.005 * calls  # release and acknowledgement, then 5 us a call

    slope = Slope()
    lengths = slope.lengths(slope.batch(0.005, slots=128))
    assert lengths == (64, 128)
    runs = {calls: run_ms(calls) / calls for calls in lengths}
    assert abs(slope.latency_ms(runs, NO_FLOOR) - 0.005) < 1e-12


def test_a_slope_is_never_negative():
    assert Slope().latency_ms({1: 2.0, 2: 0.9}, NO_FLOOR) == 0.0
