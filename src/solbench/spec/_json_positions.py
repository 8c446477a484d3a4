"""Where things stand in a JSON text that is already known to be well formed.

Used only when something is wrong with a file, so that errors can name the line.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

KeyPath = tuple[str | int, ...]

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@dataclass(slots=True)
class Positions:
    """Offsets into the text, by key path; keys point at their name, list items at their value."""

    offsets: dict[KeyPath, int] = field(default_factory=dict)
    repeated_keys: list[tuple[KeyPath, int]] = field(default_factory=list)
    not_finite: list[tuple[KeyPath, int, str]] = field(default_factory=list)
    """Path, offset and spelling of each NaN, Infinity or number too large for a double."""


@dataclass(slots=True)
class _Container:
    path: KeyPath
    is_object: bool
    index: int = 0
    key: str | None = None
    """The member being read; ``None`` while its name is awaited."""


def scan(text: str) -> Positions:
    """Find every key and list item of a well-formed JSON ``text`` (NaN and Infinity allowed)."""
    positions = Positions()
    stack: list[_Container] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        top = stack[-1] if stack else None
        if token in ("}", "]"):
            stack.pop()
        elif token == ",":
            _next_member(top)
        elif token == ":":
            continue
        elif top is not None and top.is_object and top.key is None:
            top.key = json.loads(token)
            _note_key(positions, (*top.path, top.key), match.start())
        else:
            path = _value_path(top)
            if top is not None and not top.is_object:
                positions.offsets[path] = match.start()
            if token in ("{", "["):
                stack.append(_Container(path, token == "{"))
            elif not _is_finite(token):
                positions.not_finite.append((path, match.start(), token))
    return positions


def _next_member(top: _Container | None) -> None:
    if top is not None:
        top.key = None
        top.index += 1


def _note_key(positions: Positions, path: KeyPath, offset: int) -> None:
    if path in positions.offsets:
        positions.repeated_keys.append((path, offset))
    else:
        positions.offsets[path] = offset


def _value_path(top: _Container | None) -> KeyPath:
    if top is None:
        return ()
    if top.is_object:
        return (*top.path, top.key or "")
    return (*top.path, top.index)


def _is_finite(token: str) -> bool:
    if token[0] == '"' or token in ("true", "false", "null"):
        return True
    if token.lstrip("-").isdigit():
        return True
    return math.isfinite(float(token))


def dotted(path: KeyPath) -> str:
    """``("axes", "M", 0)`` as ``axes.M[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
