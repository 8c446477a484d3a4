"""Find a device by name, or by what the driver calls it."""

from __future__ import annotations

from dataclasses import replace

from solbench.hardware._calibrate import Announce, cpu_hardware, quiet
from solbench.hardware._calibration import newest_calibration
from solbench.hardware._device import Hardware
from solbench.hardware._files import device_of, known_hardware, path_of, read_hardware_file


def load_hardware(name: str, *, threads: int | None = None, announce: Announce = quiet) -> Hardware:
    """The device of this name (``known_hardware``), or of a device file given by its path.

    ``cpu`` is measured on first use, which takes about 5 s: ``announce`` gets one line before that. ``threads``
    counts for ``cpu`` only and defaults to the CPUs this process may use.
    Raises ``UnknownHardware``, and ``InputError`` for a file that is not valid.

    >>> h200 = solbench.load_hardware("h200")
    >>> h200.dram_bytes_per_s, h200.flops_per_s("bf16", h200.clock_mhz())
    (4800000000000.0, 1070530560000000.0)
    """
    if name == "cpu":
        return cpu_hardware(threads, announce)
    parsed = read_hardware_file(path_of(name))
    return replace(device_of(parsed), measured=newest_calibration(parsed.device_names))


def detect_hardware(device: str = "cuda:0") -> str | None:
    """Name of the file for a device at hand; ``None`` if there is no such file. ``cpu`` is itself.

    Raises ``DeviceError`` if torch has no such device.
    """
    if device.split(":")[0] == "cpu":
        return "cpu"
    return hardware_named(_driver_name(device))


def hardware_named(driver_name: str) -> str | None:
    """Name of the file that lists what the driver calls the device, or ``None``."""
    for name in known_hardware():
        if name != "cpu" and driver_name in read_hardware_file(path_of(name)).device_names:
            return name
    return None


def _driver_name(device: str) -> str:
    import torch

    from solbench.errors import DeviceError

    if not torch.cuda.is_available():
        raise DeviceError(f"no device {device}: torch {torch.__version__} sees no CUDA device")
    return str(torch.cuda.get_device_name(torch.device(device)))
