"""Sources for a reader that can be talked to: no comment and no string says anything any more."""

from __future__ import annotations

import io
import re
import tokenize

from solbench.judge.guard._native import PIECES

_PLAIN = re.compile(r"""^['"]{1,3}(?P<inner>[\w.\-:/=,+ ]{0,24})['"]{1,3}$""")
"""Short literals that code is hardly readable without: names of dtypes, modes, files."""
_ROUGH = re.compile(
    r"""#[^\n]*|\'\'\'.*?(?:\'\'\'|\Z)|\"\"\".*?(?:\"\"\"|\Z)|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\"""",
    re.DOTALL,
)
_WORDS = 3
"""More of them make a sentence."""


def neutral_source(path: str, text: str) -> str:
    """The source without comments, its longer strings replaced by their length.

    Lines stay where they were. Python that cannot be read as tokens is cut by its quotes alone.
    """
    if path.endswith(".py"):
        try:
            return _neutral_python(text)
        except (tokenize.TokenError, SyntaxError, ValueError):
            return _ROUGH.sub(lambda found: _neutral_piece(found[0]), text)
    return PIECES.sub(lambda found: _neutral_piece(found[0]), text)


def _neutral_python(text: str) -> str:
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    pieces, end = [], 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        spoken = token.type in (tokenize.COMMENT, tokenize.STRING) or _is_middle(token.type)
        if spoken and token.string:
            begin = starts[token.start[0] - 1] + token.start[1]
            stop = starts[token.end[0] - 1] + token.end[1]
            inner = text[begin:stop]
            pieces += [text[end:begin], _neutral_piece(inner, _is_middle(token.type))]
            end = stop
    return "".join([*pieces, text[end:]])


def _is_middle(kind: int) -> bool:
    """The text of an f-string (Python 3.12 and newer)."""
    return tokenize.tok_name[kind] == "FSTRING_MIDDLE"


def _neutral_piece(piece: str, bare: bool = False) -> str:
    breaks = "\n" * piece.count("\n")
    if piece.startswith(("#", "//", "/*")):
        return breaks
    if bare:
        return f"text of {len(piece)} characters{breaks}" if len(piece.split()) >= _WORDS else piece
    plain = _PLAIN.match(piece)
    if plain and len(plain["inner"].split()) < _WORDS:
        return piece
    return f'"text of {len(piece)} characters"{breaks}' if not breaks else f'"""text{breaks}"""'
