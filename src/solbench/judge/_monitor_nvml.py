"""Clocks, throttling, temperature and power of an NVIDIA card, read through NVML; nothing is ever set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from solbench.errors import DeviceError, MissingExtra

# Reasons that make a sample worthless. A power cap is normal for large matrix work and is only recorded.
_SLOWDOWNS = {
    "nvmlClocksThrottleReasonHwSlowdown": "hardware slowdown",
    "nvmlClocksThrottleReasonSwThermalSlowdown": "software thermal slowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown": "hardware thermal slowdown",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "hardware power brake",
}
_POWER_CAP = "nvmlClocksThrottleReasonSwPowerCap"


@dataclass(frozen=True, slots=True)
class Reading:
    """The card at one moment."""

    sm_clock_mhz: int
    memory_clock_mhz: int
    temperature_c: int
    power_w: float
    slowdowns: tuple[str, ...]
    """Thermal or hardware reasons that slow the clocks right now."""
    power_capped: bool

    @property
    def usable(self) -> bool:
        """A sample taken now may count."""
        return not self.slowdowns


class NvmlMonitor:
    """Reads one card, found by its PCI bus id, since CUDA and NVML may number cards differently."""

    def __init__(self, pci_bus_id: str, nvml: Any = None) -> None:
        self._nvml = nvml if nvml is not None else _import_nvml()
        try:
            self._nvml.nvmlInit()
            self._handle = self._nvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
        except self._nvml.NVMLError as error:
            raise DeviceError(f"NVML cannot open the card at {pci_bus_id}: {error}") from error

    def read(self) -> Reading:
        """One reading, about a microsecond a value."""
        nvml, handle = self._nvml, self._handle
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        return Reading(
            sm_clock_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            memory_clock_mhz=nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
            temperature_c=nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            power_w=nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            slowdowns=tuple(
                text for name, text in _SLOWDOWNS.items() if reasons & getattr(nvml, name)
            ),
            power_capped=bool(reasons & getattr(nvml, _POWER_CAP)),
        )

    def close(self) -> None:
        self._nvml.nvmlShutdown()


def _import_nvml() -> Any:
    try:
        import pynvml
    except ImportError as error:
        raise MissingExtra("nvidia-ml-py", "cuda", error) from error
    return pynvml
