"""What the suite holds, found by walking its folders."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from solbench.errors import InputError
from solbench.suite._source import ProblemSource, read_problem_file

TIER_FOLDERS = ("l1", "l2", "quant", "fib")

_HERE = Path(__file__).parent


@cache
def catalogue() -> dict[str, ProblemSource]:
    """Every problem by name, tiers in order; ``InputError`` if a name stands twice."""
    found: dict[str, ProblemSource] = {}
    for folder in TIER_FOLDERS:
        for file in sorted((_HERE / folder).rglob("[!_]*.py")):
            for source in read_problem_file(file):
                if source.name in found:
                    raise InputError(
                        f"'{source.name}' is also in {found[source.name].file.name}", file=file
                    )
                found[source.name] = source
    return found


def names() -> tuple[str, ...]:
    """Names of all problems."""
    return tuple(catalogue())


def source_of(name: str) -> ProblemSource:
    """One problem by name, with or without the prefix ``suite:``; ``InputError`` shows near names."""
    bare = name.removeprefix("suite:")
    known = catalogue()
    if bare not in known:
        from difflib import get_close_matches

        near = get_close_matches(bare, known, n=5, cutoff=0.3)
        remedy = f"Near: {', '.join(near)}." if near else "See 'solbench suite list'."
        raise InputError(f"the suite has no problem '{bare}'", remedy=remedy)
    return known[bare]
