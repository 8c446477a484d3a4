"""The NVML monitor against a fake library: readings, slowdowns, and failures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from solbench.errors import DeviceError
from solbench.judge._monitor_nvml import NvmlMonitor


class FakeError(Exception):
    pass


def fake_nvml(reasons: int = 0, **overrides: Any) -> SimpleNamespace:
    clocks = {"sm": 1980, "mem": 3201}
    fake = SimpleNamespace(
        NVMLError=FakeError,
        NVML_CLOCK_SM="sm",
        NVML_CLOCK_MEM="mem",
        NVML_TEMPERATURE_GPU=0,
        nvmlClocksThrottleReasonSwPowerCap=0x4,
        nvmlClocksThrottleReasonHwSlowdown=0x8,
        nvmlClocksThrottleReasonSwThermalSlowdown=0x20,
        nvmlClocksThrottleReasonHwThermalSlowdown=0x40,
        nvmlClocksThrottleReasonHwPowerBrakeSlowdown=0x80,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByPciBusId=lambda bus_id: bus_id,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: reasons,
        nvmlDeviceGetClockInfo=lambda handle, kind: clocks[kind],
        nvmlDeviceGetMaxClockInfo=lambda handle, kind: clocks[kind],
        nvmlDeviceGetTemperature=lambda handle, kind: 41,
        nvmlDeviceGetPowerUsage=lambda handle: 123_400,
    )
    for name, value in overrides.items():
        setattr(fake, name, value)
    return fake


def test_a_reading_carries_clocks_in_mhz_and_power_in_watts() -> None:
    reading = NvmlMonitor("0000:01:00.0", fake_nvml()).read()
    assert (reading.sm_clock_mhz, reading.memory_clock_mhz) == (1980, 3201)
    assert reading.power_w == pytest.approx(123.4)
    assert reading.usable


def test_a_power_cap_is_recorded_and_does_not_drop_the_sample() -> None:
    reading = NvmlMonitor("0000:01:00.0", fake_nvml(reasons=0x4)).read()
    assert reading.power_capped
    assert reading.usable


@pytest.mark.parametrize("bit", [0x8, 0x20, 0x40, 0x80])
def test_thermal_and_hardware_slowdowns_make_the_sample_unusable(bit: int) -> None:
    reading = NvmlMonitor("0000:01:00.0", fake_nvml(reasons=bit | 0x4)).read()
    assert len(reading.slowdowns) == 1
    assert not reading.usable


def test_a_card_that_nvml_does_not_know_is_a_device_error_with_its_bus_id() -> None:
    def refuse(bus_id: bytes) -> None:
        raise FakeError("Not Found")

    with pytest.raises(DeviceError, match=r"0000:09:00\.0: Not Found"):
        NvmlMonitor("0000:09:00.0", fake_nvml(nvmlDeviceGetHandleByPciBusId=refuse))
