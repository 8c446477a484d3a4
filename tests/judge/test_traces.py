from solbench.judge._traces import _extent


def test_readings_are_told_by_their_extent():
    readings = [
        {"sm_clock_mhz": 1980.0, "power_w": 300.0},
        {"sm_clock_mhz": 1755.0},
        {"sm_clock_mhz": 1965.0, "power_w": 420.0},
    ]
    assert _extent(readings) == {
        "power_w": {"min": 300.0, "median": 360.0, "max": 420.0},
        "sm_clock_mhz": {"min": 1755.0, "median": 1965.0, "max": 1980.0},
    }


def test_a_device_that_tells_nothing_has_no_readings():
    assert _extent([{}, {}]) is None
