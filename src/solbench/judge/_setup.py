"""How a judge is made, as both sides of the channel to its process know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solbench.spec import Definition, Solution

if TYPE_CHECKING:
    from solbench.judge._statistics import Budget


@dataclass(frozen=True, slots=True)
class Setup:
    """What stays the same as long as a judge lives."""

    device: str
    budgets: Mapping[str, Budget] | None = None
    """The device's own for ``None``."""
    hot: bool = False
    rules: tuple[str, ...] = ()
    """Folders of operator rules."""


@dataclass(frozen=True, slots=True)
class Coming:
    """What will be ordered first: it is built while the judge starts."""

    definition: Definition
    solution: Solution


@dataclass(frozen=True, slots=True)
class Start:
    """The first message to a judge's process."""

    setup: Setup
    coming: Coming | None = None
