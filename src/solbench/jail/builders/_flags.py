"""Which compiler flags a solution may set.

The compiler is jailed, so this is not what keeps it in; it keeps builds reproducible (no files from outside
the solution) and errors clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from solbench.errors import BuildError

_COMMON = (
    r"-O([0-3]|s|fast)?",
    r"-std=[\w+]+",
    r"-D\w+(=.*)?",
    r"-U\w+",
    r"-g\d?",
    r"-w",
    r"-W(?!l,|a,|p,)[\w=+-]+",
    r"-I(?!/)[\w./+-]+",
    r"-pthread",
)
_CXX = (
    *_COMMON,
    r"-m[\w.=+-]+",
    r"-f(?!plugin|dump|profile)[\w=+-]+",
)
_CUDA = (
    *_COMMON,
    r"-{1,2}use_fast_math",
    r"-{1,2}(arch|gpu-architecture)=\w+",
    r"-{1,2}(gencode|generate-code)(=[\w,=\[\]]+)?",
    r"arch=compute_\w+,code=[\w,\[\]]+",
    r"-{1,2}(ptxas-options|maxrregcount|fmad|ftz|prec-div|prec-sqrt|threads|std|optimize)=[\w=,+-]+",
    r"-X(ptxas|compiler)(=.*)?",
    r"-{1,2}(lineinfo|expt-relaxed-constexpr|expt-extended-lambda|extended-lambda|extra-device-vectorization)",
    r"-v|--warn-on-spills|--disable-warnings",
    r"-rdc=(true|false)",
    *_CXX[len(_COMMON) :],
)
_LINK = (r"-l[\w.+-]+", r"-L/usr/[\w./+-]+", r"-pthread", r"-O\d")


def checked(flags: Iterable[str], kind: str) -> tuple[str, ...]:
    """The flags, if each is allowed for ``kind``: ``cflags``, ``cuda_cflags`` or ``ld_flags``."""
    patterns = {"cflags": _CXX, "cuda_cflags": _CUDA, "ld_flags": _LINK}[kind]
    for flag in flags:
        if ".." in flag or not _allowed(flag, patterns):
            raise BuildError(f"compile_options.{kind}: the flag '{flag}' is not allowed", "")
    return tuple(flags)


def _allowed(flag: str, patterns: Sequence[str]) -> bool:
    return any(re.fullmatch(pattern, flag) for pattern in patterns)
