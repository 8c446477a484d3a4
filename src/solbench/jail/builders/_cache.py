"""The content-addressed cache: a folder for each artifact, named by what it was made of."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

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
    folder.parent.mkdir(parents=True, exist_ok=True)
    with OwnedFolder(".staging-", folder.parent) as staging:
        try:
            make(staging)
            staging.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    return folder


def write_sources(folder: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
