"""Names of values and ranks, and access maps, in the text form."""

from __future__ import annotations

import re
from typing import Any

from solbench.bound._access import Along, Axis, Fixed, Table, Taps, Whole
from solbench.bound.ir._arrays import Encoder, read_array
from solbench.errors import InputError

_LETTERS = "ijklmnopqrstuvwxyzabcdefgh"
_AFFINE = re.compile(r"(?:(-?\d+)\*)?([a-z]\d*)([+-]\d+)?")


def value_name(value: int) -> str:
    """``v3`` for a value of the program, ``t3`` for one between two lifted nodes of a call."""
    return f"v{value}" if value >= 0 else f"t{-value}"


def value_id(name: Any) -> int:
    if not isinstance(name, str) or not re.fullmatch(r"[vt]\d+", name):
        raise InputError(
            f"'{name}' is no name of a value", remedy="Values are v0, v1, ... and t2, t3, ..."
        )
    return int(name[1:]) if name[0] == "v" else -int(name[1:])


def rank_name(rank: int) -> str:
    return _LETTERS[rank] if rank < len(_LETTERS) else f"r{rank}"


def rank_number(name: Any) -> int:
    if isinstance(name, str) and re.fullmatch(r"r\d+", name):
        return int(name[1:])
    if isinstance(name, str) and len(name) == 1 and name in _LETTERS:
        return _LETTERS.index(name)
    raise InputError(
        f"'{name}' is no name of a rank", remedy="Ranks are i, j, k, ... or r26, r27, ..."
    )


def axis_text(axis: Axis, encoder: Encoder) -> Any:
    """``i``, ``2*i+1``, an index, ``:`` for all, or a table of indices."""
    if isinstance(axis, Along):
        factor = "" if axis.step == 1 else f"{axis.step}*"
        offset = f"{axis.start:+d}" if axis.start else ""
        return f"{factor}{rank_name(axis.rank)}{offset}"
    if isinstance(axis, Table):
        return {"rank": rank_name(axis.rank), "table": encoder.array(axis.table)}
    if isinstance(axis, Taps):
        ranks = {"rank": rank_name(axis.rank), "tap": rank_name(axis.tap)}
        return {**ranks, "table": encoder.array(axis.table)}
    return axis.index if isinstance(axis, Fixed) else ":"


def read_axis(data: Any) -> Axis:
    """The axis that :func:`axis_text` wrote."""
    if isinstance(data, int):
        return Fixed(data)
    if data == ":":
        return Whole()
    if isinstance(data, dict) and "tap" in data:
        table = read_array(data["table"])
        return Taps(rank_number(data["rank"]), rank_number(data["tap"]), table)
    if isinstance(data, dict):
        return Table(rank_number(data["rank"]), read_array(data["table"]))
    found = _AFFINE.fullmatch(data) if isinstance(data, str) else None
    if found is None:
        raise InputError(f"'{data}' is no access map", remedy="Write i, 2*i+1, an index, or ':'.")
    step, rank, start = found.groups()
    return Along(rank_number(rank), int(start or 0), int(step or 1))
