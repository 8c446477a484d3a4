"""Rules of the user's own, from a folder: loaded on request and never silently."""

from __future__ import annotations

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
    files = sorted(root.glob("*.py")) if root.is_dir() else []
    if not files:
        raise InputError(
            "is no folder with rules", file=folder, remedy="'solbench ops suggest' writes one."
        )
    before = set(RULES)
    for file in files:
        _execute(file)
    _loaded[root] = tuple(op for op in RULES if op not in before)
    return _loaded[root]


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
