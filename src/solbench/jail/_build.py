"""The door to the builders. They know the exchanged models, which the zygote must not load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solbench.jail.protocol import Artifact

if TYPE_CHECKING:
    from solbench.spec import Solution


def build(solution: Solution, device: str) -> Artifact:
    """Make the artifact that a worker loads, or find it in the cache.

    ``device`` is ``cpu`` or ``cuda:N``. Raises ``BuildError`` with the compiler's first error.
    """
    from solbench.jail.builders import build_solution

    return build_solution(solution, device)
