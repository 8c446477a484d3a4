"""The content-addressed cache: a folder for each artifact, named by what it was made of."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from solbench.errors import DeviceError
from solbench.jail._folders import OwnedFolder

_FORMAT = 1
"""Raise it when the content of an artifact's folder changes its meaning."""


def cache_root() -> Path:
    """``$SOLBENCH_CACHE_DIR``, else the user's cache folder."""
    named = os.environ.get("SOLBENCH_CACHE_DIR")
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "solbench"


def digest(made_of: Mapping[str, object]) -> str:
    """SHA-256 of everything that an artifact depends on."""
    text = json.dumps({"format": _FORMAT, **made_of}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def stored(name: str, make: Callable[[Path], None]) -> Path:
    """The artifact's folder; if it is not there, ``make`` fills it.

    It appears in one rename, so another process sees all of it or nothing; of two that make it at the same
    time, the first wins.
    """
    folder = cache_root() / "artifacts" / name
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(error) from error
    with OwnedFolder(".staging-", folder.parent) as staging:
        try:
            make(staging)
            staging.rename(folder)
        except OSError as error:
            if not folder.is_dir():
                raise _unwritable(error) from error
    return folder


def _unwritable(error: OSError) -> DeviceError:
    """A full or read-only disk is no fault of the submission, nor of the code here."""
    where = f"the build cache {cache_root()} cannot be written: {error.strerror}"
    return DeviceError(f"{where}. Make room, or name another folder in SOLBENCH_CACHE_DIR")


def write_sources(folder: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
