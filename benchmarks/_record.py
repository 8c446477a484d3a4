"""Where a benchmark writes its numbers: one JSON a run, with the date, the machine and the command."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(os.environ.get("RESULTS_DIR") or Path(__file__).parent / "results")


def machine() -> dict[str, Any]:
    """CPU, card and versions of this machine. Imports torch."""
    import torch

    from solbench.hardware._calibrate import cpu_model, usable_cpus

    card = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {
        "cpu": cpu_model(),
        "cpus": usable_cpus(),
        "gpu": card,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": _version("triton"),
    }


def record(name: str, numbers: dict[str, Any]) -> Path:
    """Write ``NAME-DATE.json`` and print the numbers."""
    now = datetime.now(UTC)
    entry = {
        "benchmark": name,
        "date": now.isoformat(timespec="seconds"),
        "command": " ".join(["python", _script(), *sys.argv[1:]]),
        "machine": machine(),
        "numbers": numbers,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}-{now:%Y%m%d-%H%M%S}.json"
    path.write_text(json.dumps(entry, indent=2) + "\n")
    for key, value in numbers.items():
        if not isinstance(value, list | dict):
            print(f"{key:40} {value:.4g}" if isinstance(value, float) else f"{key:40} {value}")
    print(f"written: {path}")
    return path


def _script() -> str:
    """The script's path as seen from the checkout, wherever that lies."""
    return str(Path(sys.argv[0]).resolve().relative_to(Path(__file__).resolve().parents[1]))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
