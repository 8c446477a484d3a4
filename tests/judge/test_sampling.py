from solbench.judge._floor import NO_FLOOR, TimerFloor
from solbench.judge._sampling import PerRun, Slope


def test_the_batch_follows_from_the_slots_and_not_from_a_noisy_estimate():
    assert {PerRun().batch(ms, ms, slots=16) for ms in (0.0, 0.01, 0.3, 9.9)} == {8}
    assert PerRun().batch(0.1, 0.1, slots=2) == 1


def test_long_calls_are_run_singly():
    assert PerRun().batch(10.0, 10.0, slots=16) == 1
    assert PerRun().batch(0.01, 5000.0, slots=16) == 1  # eight such calls would time out


def test_a_slope_of_calls_too_short_to_see_fills_every_slot():
    assert Slope().batch(0.0, 0.0, slots=128) == 64  # the longer run takes twice as many


def test_the_floor_of_an_empty_run_is_subtracted_once_a_run():
    floor = TimerFloor(run_ms=0.08, call_ms=0.01)
    # 4 calls in 0.4 ms: 0.1 each, less 0.01 a call and a quarter of 0.08
    assert PerRun().latency_ms({4: 0.1}, floor) == 0.1 - 0.01 - 0.02


def test_the_slope_is_free_of_any_cost_per_run():
    def run_ms(calls):
        return 0.175 + 0.005 * calls  # release and acknowledgement, then 5 us a call

    slope = Slope()
    lengths = slope.lengths(slope.batch(0.005, 0.005, slots=128))
    assert lengths == (64, 128)
    runs = {calls: run_ms(calls) / calls for calls in lengths}
    assert abs(slope.latency_ms(runs, NO_FLOOR) - 0.005) < 1e-12


def test_a_slope_is_never_negative():
    assert Slope().latency_ms({1: 2.0, 2: 0.9}, NO_FLOOR) == 0.0


def test_a_time_that_calls_could_have_shared_is_in_doubt():
    assert "8 inputs" in PerRun().doubt(8, 1.0, 0.01)
    assert PerRun().doubt(1, 1.0, 0.1) == ""


def test_a_time_near_the_floor_is_in_doubt():
    assert "floor" in PerRun().doubt(1, 0.99, 0.1)
    assert Slope().doubt(64, 0.01, 0.1) == ""
