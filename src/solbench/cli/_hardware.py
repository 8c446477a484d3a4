"""Which hardware file a command prices on."""

from __future__ import annotations

from solbench.cli import _console
from solbench.errors import DeviceError

FALLBACK = "h200"
"""Priced on when no device is named or found: bounds are then for a data-centre GPU, not this machine."""


def resolve_hardware(name: str | None) -> str:
    """The named hardware, the detected GPU's, or the fallback, said aloud."""
    if name is not None:
        return name
    from solbench.hardware import detect_hardware

    try:
        found = detect_hardware()
    except DeviceError:
        found = None
    if found is None:
        _console.note(f"note: no known GPU here; pricing on {FALLBACK} (choose with --hardware)")
        return FALLBACK
    return found
