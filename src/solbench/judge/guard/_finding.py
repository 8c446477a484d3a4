"""What a rule found, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "warning", "alarm"]
"""``note``: a fact that a reader may want to know. ``warning``: honest code seldom does this. ``alarm``: honest
code has no use for it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule saw."""

    rule: str
    """Id of the rule, such as ``dynamic_code``."""
    severity: Severity
    file: str
    """Path of the source within the solution; of the built artifact for binaries."""
    line: int
    """Counted from 1; 0 where a finding is about a file as a whole."""
    message: str
    excerpt: str = ""
    """The line itself, shortened."""

    @property
    def evidence(self) -> str:
        """``file:line: message``."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}"
