"""Rules of the user's own, from a folder: loaded on request and never silently."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from solbench.bound.rules._base import RULES
from solbench.errors import InputError

_loaded: dict[Path, tuple[str, ...]] = {}


def load_rules(folder: Path | str) -> tuple[str, ...]:
    """Execute every Python file of a folder and return the operations that they gave rules for.

    The files run in this process with all of its rights: read them first. A folder is loaded once; a rule for
    an operation that has one already is an error.

    Raises
    ------
    InputError
        There is no such folder, no file in it, or a file fails; the message names it.
    """
    root = Path(folder).resolve()
    if root in _loaded:
        return _loaded[root]
    files = _files(folder)
    before = set(RULES)
    for file in files:
        _execute(file)
    found = tuple(op for op in RULES if op not in before)
    if not found:
        raise InputError(
            "none of its files has a rule", file=folder, remedy="A rule stands under @rule(…)."
        )
    _loaded[root] = found
    return found


def rules_digest(folders: Iterable[Path | str]) -> str:
    """SHA-256 of the names and contents of the rules in folders, in their order; empty for no folder.

    Nothing is executed. Raises ``InputError`` as :func:`load_rules` does.
    """
    files = [file for folder in folders for file in _files(folder)]
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
    return whole.hexdigest() if files else ""


def _files(folder: Path | str) -> list[Path]:
    root = Path(folder).resolve()
    files = sorted(root.glob("*.py")) if root.is_dir() else []
    if not files:
        raise InputError(
            "is no folder with rules", file=folder, remedy="'solbench ops suggest' writes one."
        )
    return files


def _execute(file: Path) -> None:
    known = dict(RULES)
    spec = spec_from_file_location(f"solbench_user_rule_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    try:
        spec.loader.exec_module(module_from_spec(spec))
    except Exception as error:  # noqa: BLE001 - the user's own code: whatever it raises is its failure
        RULES.clear()
        RULES.update(known)
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"this rule cannot be loaded: {what}", file=file) from None
