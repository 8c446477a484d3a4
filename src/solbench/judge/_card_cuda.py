"""Which NVIDIA card a name means, who else may use it, and who reads its clocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from solbench.errors import DeviceError, MissingExtra
from solbench.judge._monitor_nvml import NvmlMonitor

MPS_FOLDER = "/tmp/nvidia-mps"
"""Where the multi-process service listens unless told otherwise."""


def refuse_shared_contexts(folder: Path) -> None:
    """Raise ``DeviceError`` where CUDA's multi-process service runs: processes do not take turns there, so a
    worker could compute unseen while the judge delivers its inputs."""
    if (folder / "control").exists():
        raise DeviceError(
            f"the CUDA multi-process service runs here ({folder}); times could not be trusted. Stop it: "
            "echo quit | nvidia-cuda-mps-control"
        )


def device_of(name: str) -> torch.device:
    """``cuda:N``; ``cuda`` is the first. Raises ``DeviceError`` where there is no such GPU."""
    if not torch.cuda.is_available():
        raise DeviceError(f"{name}: this torch ({torch.__version__}) sees no GPU. Use --device cpu")
    device = torch.device(name if ":" in name else f"{name}:0")
    count = torch.cuda.device_count()
    if device.index >= count:
        raise DeviceError(f"{name}: there are only {count} GPUs (cuda:0 to cuda:{count - 1})")
    return device


def open_monitor(properties: Any) -> NvmlMonitor | None:
    """None where NVML is not installed; the trace then has no clocks."""
    bus_id = f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
    try:
        return NvmlMonitor(bus_id)
    except (MissingExtra, DeviceError):
        return None
