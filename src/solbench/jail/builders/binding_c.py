"""The plain C entry: one exported function, no headers but ours. Builds in seconds."""

from __future__ import annotations

from solbench.jail.builders._binding import Binding


def binding() -> Binding:
    return Binding("c")
