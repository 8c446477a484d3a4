"""What was measured on the machine at hand, and where it is kept.

One JSON file per device, thread count and torch version, under ``calibration/`` in ``$SOLBENCH_CACHE_DIR``
(else ``$XDG_CACHE_HOME/solbench``, else ``~/.cache/solbench``). These are peaks: measuring again keeps the
larger number.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from solbench.errors import InputError


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured peaks of one device: each the best of many repeats, so a floor of what the device can do."""

    device: str
    """``cpu`` or ``cuda``."""
    title: str
    """CPU model, or the driver's name of the card."""
    threads: int
    """CPU threads used; 0 on CUDA."""
    torch: str
    date: str
    """ISO 8601, UTC."""
    clock_mhz: float
    """The clock reported while measuring; 1000 where none is reported. Rates do not depend on it."""
    copy_bytes_per_s: float
    """Bytes read plus bytes written."""
    read_bytes_per_s: float
    write_bytes_per_s: float
    update_bytes_per_s: float
    """``y += x``: two reads and one write."""
    matmul_flops_per_s: dict[str, float]
    """Precision class → rate; classes that torch cannot multiply here are left out."""
    l2_bytes: int
    """The last cache before memory."""
    l2_bytes_per_s: float
    """Copy that stays inside that cache; bytes read plus bytes written."""
    core_cache_bytes: int
    """CPU: private L2 of one core. 0 on CUDA."""
    launch_floor_us: float
    """Least time of one tiny call (CPU) or between two tiny kernels of one stream (CUDA)."""
    seconds: float
    """What measuring took."""
    quiet: bool = True
    """Whether the machine had little else to do while the last measurement ran."""
    runs: int = 1
    """How many measurements the peaks are the best of."""

    @property
    def dram_bytes_per_s(self) -> float:
        """The best of all mixes of reads and writes."""
        return max(
            self.copy_bytes_per_s,
            self.read_bytes_per_s,
            self.write_bytes_per_s,
            self.update_bytes_per_s,
        )

    @property
    def key(self) -> str:
        return calibration_key(self.device, self.title, self.threads, self.torch)


def calibration_key(device: str, title: str, threads: int, torch_version: str) -> str:
    """File stem for one device in one software state."""
    digest = hashlib.sha256(f"{title}|{threads}|{torch_version}".encode()).hexdigest()
    return f"{device}-{digest[:16]}"


def calibration_folder() -> Path:
    override = os.environ.get("SOLBENCH_CACHE_DIR")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(override) if override else base / "solbench") / "calibration"


def stored_calibration(key: str) -> Calibration | None:
    """The stored measurement, or ``None`` if there is none yet. Raises ``InputError`` on a damaged file."""
    path = calibration_folder() / f"{key}.json"
    if not path.exists():
        return None
    try:
        return TypeAdapter(Calibration).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            first["msg"],
            file=path,
            key=".".join(map(str, first["loc"])) or None,
            remedy="Delete the file and run: solbench calibrate",
        ) from error


def newest_calibration(titles: Collection[str]) -> Calibration | None:
    """The latest stored measurement of a card with one of these driver names, whatever the torch version.

    Raises ``InputError`` on a damaged file.
    """
    folder = calibration_folder()
    stored = [stored_calibration(path.stem) for path in sorted(folder.glob("cuda-*.json"))]
    fitting = [each for each in stored if each is not None and each.title in titles]
    return max(fitting, key=lambda each: each.date, default=None)


def store_calibration(new: Calibration) -> Calibration:
    """Merge with what is stored under the same key, write it, and return the merged peaks."""
    old = stored_calibration(new.key)
    merged = merge_peaks(old, new) if old else new
    folder = calibration_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".tmp", delete=False) as stream:
        json.dump(asdict(merged), stream, indent=2)
    Path(stream.name).replace(folder / f"{new.key}.json")
    return merged


def merge_peaks(old: Calibration, new: Calibration) -> Calibration:
    """The better of each peak; everything else from ``new``."""
    classes = {**old.matmul_flops_per_s, **new.matmul_flops_per_s}
    rates = {
        name: max(old.matmul_flops_per_s.get(name, 0.0), new.matmul_flops_per_s.get(name, 0.0))
        for name in classes
    }
    merged = asdict(new) | {
        "copy_bytes_per_s": max(old.copy_bytes_per_s, new.copy_bytes_per_s),
        "read_bytes_per_s": max(old.read_bytes_per_s, new.read_bytes_per_s),
        "write_bytes_per_s": max(old.write_bytes_per_s, new.write_bytes_per_s),
        "update_bytes_per_s": max(old.update_bytes_per_s, new.update_bytes_per_s),
        "l2_bytes_per_s": max(old.l2_bytes_per_s, new.l2_bytes_per_s),
        "launch_floor_us": min(old.launch_floor_us, new.launch_floor_us),
        "runs": old.runs + new.runs,
        "matmul_flops_per_s": rates,
    }
    return Calibration(**merged)
