"""What this machine can do. Every probe only looks: no setting is changed, nothing is installed."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from solbench import __version__

State = Literal["ok", "missing", "note"]
_CAP_SYS_ADMIN = 21


@dataclass(frozen=True, slots=True)
class Check:
    """One line of ``solbench doctor``."""

    area: str
    name: str
    state: State
    detail: str
    remedy: str = ""
    required: bool = False
    """Without it ``solbench eval --device cpu`` cannot run here."""


def probe_all() -> Iterator[Check]:
    """Every check, area by area; a probe that fails is itself a finding."""
    for probe in (_system, _torch, _gpus, _nvml, _compilers, _jail, _packages, _caches):
        yield from _guarded(probe)


def _guarded(probe: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from probe()
    except Exception as error:  # noqa: BLE001 - a broken driver must not hide the other findings
        area = probe.__name__.strip("_")
        yield Check(area, "probe", "missing", f"{type(error).__name__}: {error}")


def _system() -> Iterator[Check]:
    yield Check("system", "solbench", "ok", __version__)
    inside = (3, 11) <= sys.version_info < (3, 14)
    yield Check(
        "system", "Python", "ok" if inside else "missing", platform.python_version(),
        "" if inside else "Use Python 3.11, 3.12 or 3.13.", required=True,
    )  # fmt: skip
    linux = sys.platform == "linux"
    yield Check(
        "system", "kernel", "ok" if linux else "missing",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        "" if linux else "Evaluation needs Linux; bound, check and report work here.", required=True,
    )  # fmt: skip
    yield Check("system", "CPUs", "ok", f"{os.cpu_count()}")


def _torch() -> Iterator[Check]:
    try:
        import torch
    except ImportError as error:
        remedy = "Install it: pip install 'torch>=2.9'"
        yield Check("torch", "torch", "missing", str(error), remedy, required=True)
        return
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    yield Check("torch", "torch", "ok", f"{torch.__version__} ({build})")


def _gpus() -> Iterator[Check]:
    try:
        import torch
    except ImportError:
        return  # said above

    from solbench.hardware import detect_hardware

    if not torch.cuda.is_available():
        remedy = "For --device cuda:0: an NVIDIA GPU, its driver, and a CUDA build of torch."
        yield Check("gpu", "device", "note", "none that torch can use", remedy)
        return
    for index in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(index)
        known = detect_hardware(f"cuda:{index}")
        detail = f"{device.name}, {device.total_memory >> 30} GiB, sm_{device.major}{device.minor}"
        remedy = "" if known else "No hardware file: name one with --hardware to evaluate here."
        yield Check("gpu", f"cuda:{index}", "ok", f"{detail}, hardware {known}", remedy)
    found = _find_cupti()
    yield Check(
        "gpu", "CUPTI", "ok" if found else "missing", found or "libcupti not found",
        "" if found else "Comes with the CUDA toolkit and with CUDA builds of torch.",
    )  # fmt: skip


def _find_cupti() -> str | None:
    found = ctypes.util.find_library("cupti")
    if found:
        return found
    folders = [Path("/usr/local/cuda/extras/CUPTI/lib64"), Path("/usr/local/cuda/lib64")]
    folders += [Path(entry) / "nvidia" for entry in sys.path if entry.endswith("-packages")]
    for folder in folders:
        for file in folder.glob("**/libcupti.so*"):
            return str(file)
    return None


def _nvml() -> Iterator[Check]:
    try:
        import pynvml
    except ImportError:
        remedy = "Install it: pip install 'solbench[cuda]'"
        yield Check("gpu", "NVML", "note", "package nvidia-ml-py is not installed", remedy)
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        yield Check("gpu", "NVML", "note", f"no NVIDIA driver ({error})")
        return
    yield Check("gpu", "NVML", "ok", f"driver {pynvml.nvmlSystemGetDriverVersion()}")
    for index in range(pynvml.nvmlDeviceGetCount()):
        yield _clocks(pynvml, index)


def _clocks(nvml: Any, index: int) -> Check:
    """Whether clocks could be locked, judged from rights alone: trying would change a setting."""
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    now = nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)
    top = nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)
    allowed = os.geteuid() == 0 and _has_capability(_CAP_SYS_ADMIN)
    rights = "root with CAP_SYS_ADMIN: allowed" if allowed else "needs root with CAP_SYS_ADMIN: no"
    detail = f"SM {now} of {top} MHz; locking: {rights} (not tried)"
    return Check("gpu", f"clocks {index}", "ok" if allowed else "note", detail)


def _has_capability(bit: int) -> bool:
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> bit & 1)


def _compilers() -> Iterator[Check]:
    wanted = (
        ("g++", "C++ solutions on CPU", "Debian, Ubuntu: apt install g++"),
        ("nvcc", "CUDA C++ solutions", "Install NVIDIA's CUDA toolkit."),
    )
    for name, purpose, remedy in wanted:
        path = shutil.which(name) or _toolkit_binary(name)
        if path is None:
            yield Check("compilers", name, "note", f"not found; needed for {purpose}", remedy)
        else:
            yield Check("compilers", name, "ok", _version_line(path))
    version = _installed("triton")
    remedy = "" if version else "Install it: pip install 'solbench[triton]'"
    detail = f"{version} (with its own ptxas)" if version else "not installed; for Triton solutions"
    yield Check("compilers", "triton", "ok" if version else "note", detail, remedy)


def _toolkit_binary(name: str) -> str | None:
    path = Path("/usr/local/cuda/bin") / name
    return str(path) if path.exists() else None


def _version_line(path: str) -> str:
    """The line of ``--version`` that has the number; compilers differ in which one it is."""
    result = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    lines = [line for line in result.stdout.splitlines() if any(c.isdigit() for c in line)]
    release = [line for line in lines if "release" in line]
    return (release or lines or ["?"])[0].strip()


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _jail() -> Iterator[Check]:
    """Every wall is raised in a process of its own, which says which of them stand."""
    from solbench.errors import JailError
    from solbench.jail import available_layers

    try:
        layers = available_layers()
    except JailError as error:
        remedy = "Evaluation needs the jail."
        yield Check("jail", "walls", "missing", str(error), remedy, required=True)
        return
    for layer, why_not in layers.items():
        remedy = "Results carry the flag jail_incomplete and cannot rank." if why_not else ""
        yield Check("jail", layer, "note" if why_not else "ok", why_not or "stands", remedy)


def _packages() -> Iterator[Check]:
    extras = {
        "jinja2": ("report", "the HTML page"),
        "matplotlib": ("report", "plots"),
        "safetensors": ("data", "workloads with safetensors inputs"),
    }
    for package, (extra, purpose) in extras.items():
        version = _installed(package)
        remedy = "" if version else f"Install it: pip install 'solbench[{extra}]'"
        detail = version or f"not installed; for {purpose}"
        yield Check("packages", package, "ok" if version else "note", detail, remedy)


def _caches() -> Iterator[Check]:
    from solbench.hardware import calibration_folder

    folder = calibration_folder()
    stored = len(list(folder.glob("*.json"))) if folder.is_dir() else 0
    yield Check("caches", "calibrations", "ok", f"{stored} in {folder}")
