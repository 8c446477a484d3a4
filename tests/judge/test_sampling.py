import pytest

from solbench.judge._floor import NO_FLOOR, TimerFloor
from solbench.judge._sampling import PerRun, Slope


def test_the_batch_follows_from_the_slots_and_not_from_a_noisy_estimate():
    assert {PerRun().batch(ms, ms, slots=16) for ms in (0.0, 0.01, 0.3, 9.9)} == {8}
    assert PerRun().batch(0.1, 0.1, slots=2) == 1


def test_long_calls_are_run_singly():
    assert PerRun().batch(10.0, 10.0, slots=16) == 1
    assert PerRun().batch(0.01, 5000.0, slots=16) == 1  # eight such calls would time out


def test_a_slope_of_calls_too_short_to_see_fills_every_slot():
    assert Slope().batch(0.0, 0.0, slots=48) == 48


def test_long_calls_make_short_runs_of_at_least_two():
    assert Slope(least_ms=1.0).batch(0.3, 0.3, slots=48) == 4
    assert Slope(least_ms=1.0).batch(50.0, 50.0, slots=48) == 2
    assert Slope().lengths(2) == (1, 2)


def test_the_floor_of_an_empty_run_is_subtracted_once_a_run():
    floor = TimerFloor(run_ms=0.08, call_ms=0.01)
    # 4 calls in 0.4 ms: 0.1 each, less 0.01 a call and a quarter of 0.08
    assert PerRun().latency_ms({4: 0.1}, floor) == 0.1 - 0.01 - 0.02


def test_the_slope_is_free_of_any_cost_per_run():
    def run_ms(calls):
        return 0.175 + 0.005 * calls  # release and acknowledgement, then 5 us a call

    slope = Slope()
    lengths = slope.lengths(slope.batch(0.005, 0.005, slots=48))
    assert lengths == (1, 8, 48)
    runs = {calls: run_ms(calls) / calls for calls in lengths}
    assert abs(slope.latency_ms(runs, NO_FLOOR) - 0.005) < 1e-12


def test_what_comes_first_in_a_run_is_not_in_the_slope():
    cold_code = 0.009
    runs = {calls: (0.15 + cold_code + 0.004 * calls) / calls for calls in (1, 8, 48)}
    assert Slope().latency_ms(runs, NO_FLOOR) == pytest.approx(0.004)
    # ... and stays in the time of a call alone
    assert Slope().single_ms(runs, TimerFloor(run_ms=0.15, call_ms=0.002)) == pytest.approx(0.013)


def test_the_cost_of_a_run_is_what_a_next_to_empty_call_leaves_beside_its_slope():
    runs = {count: [0.148 + 0.002 * count] * 5 for count in (1, 8, 48)}
    floor = Slope().fit(runs)
    assert floor.call_ms == pytest.approx(0.002)
    assert floor.run_ms == pytest.approx(0.148)
    assert Slope().floor_ms(48, floor) == 0.0


def test_a_slope_is_never_negative():
    assert Slope().latency_ms({1: 2.0, 2: 0.9}, NO_FLOOR) == 0.0


def test_a_time_that_calls_could_have_shared_is_in_doubt():
    assert "8 inputs" in PerRun().doubt(8, 1.0, 0.01)
    assert PerRun().doubt(1, 1.0, 0.1) == ""


def test_a_time_near_the_floor_is_in_doubt():
    assert "floor" in PerRun().doubt(1, 0.99, 0.1)
    assert Slope().doubt(64, 0.01, 0.1) == ""


def test_a_single_slot_makes_runs_of_one_call_less_what_a_run_costs():
    slope = Slope()
    assert slope.batch(0.3, 0.3, slots=1) == 1
    assert slope.lengths(1) == (1,)
    floor = TimerFloor(run_ms=0.15, call_ms=0.002, jitter_ms=0.004)
    assert slope.latency_ms({1: 0.45}, floor) == pytest.approx(0.3)
    assert slope.resolution_ms(1, floor) == 0.004
