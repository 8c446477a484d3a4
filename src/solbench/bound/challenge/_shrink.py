"""Delta debugging: the smallest sizes and the smallest program on which a bound is still too large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from solbench.bound.challenge._case import Case, Finding, Judge, judge_case
from solbench.bound.challenge._rewrite import size_of, smaller
from solbench.errors import SolBenchError

SMALL_SIZES = (2, 3, 4, 6, 8, 16)
"""Caps tried on all axes at once: a program may need heads that divide, or a window that fits."""
LEAST_SIZE = 2
"""A softmax over one element, or a mean of one, needs nothing: no rule is to blame for such a corner."""
DEFAULT_ATTEMPTS = 300


@dataclass(slots=True)
class Shrinker:
    """Tries candidates until none is smaller or the attempts are spent."""

    judge: Judge = judge_case
    attempts: int = DEFAULT_ATTEMPTS
    programs: bool = True
    """Whether the program may be changed, or only its sizes: a measured kernel computes all of it."""
    tried: int = 0
    seen: set[tuple[str, str]] = field(default_factory=set)

    def refute(self, case: Case) -> Finding | None:
        """Any small instance of the program on which the bound is too large."""
        for candidate in _instances(case):
            found = self._try(candidate)
            if found is not None:
                return found
        return None

    def shrink(self, finding: Finding) -> Finding:
        """A finding of the same resource from which nothing can be taken away."""
        while True:
            smaller_one = self._smaller_program(finding) or self._smaller_sizes(finding)
            if smaller_one is None:
                return finding
            finding = smaller_one

    def _try(self, case: Case) -> Finding | None:
        try:
            key = (case.definition.reference, str(sorted(case.sizes().items())))
        except SolBenchError:
            return None  # sizes that an axis computed from them does not allow
        if self.tried >= self.attempts or key in self.seen:
            return None
        self.seen.add(key)
        self.tried += 1
        return self.judge(case)

    def _smaller_program(self, finding: Finding) -> Finding | None:
        if not self.programs:
            return None
        source = finding.case.definition.reference
        candidates = sorted(
            {s for s in smaller(source) if size_of(s) < size_of(source)}, key=size_of
        )
        for candidate in islice(candidates, self.attempts):
            try:
                case = finding.case.rewritten(candidate)
            except (SolBenchError, ValueError):
                continue  # no valid problem
            found = self._try(case)
            if found is not None and found.excess.resource == finding.excess.resource:
                return found
        return None

    def _smaller_sizes(self, finding: Finding) -> Finding | None:
        sizes = finding.case.sizes()
        for name, size in sizes.items():
            for less in (2, 3, size // 2, size - 1):
                if not LEAST_SIZE <= less < size:
                    continue
                found = self._try(finding.case.resized({name: less}))
                if found is not None and found.excess.resource == finding.excess.resource:
                    return found
        return None


def _instances(case: Case) -> Iterator[Case]:
    """The case itself, then all sizes capped, from small to large."""
    sizes = case.sizes()
    for cap in SMALL_SIZES:
        yield case.resized({name: min(size, cap) for name, size in sizes.items()})
    for cap in SMALL_SIZES:  # sizes that are not the same, so that no two axes fit by chance
        capped = {n: max(1, min(size, cap + i)) for i, (n, size) in enumerate(sizes.items())}
        yield case.resized(capped)
    yield case
