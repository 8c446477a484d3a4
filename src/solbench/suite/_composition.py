"""What the suite is made of, counted against what it is to become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from solbench import spec
from solbench.suite._form import Input, Problem
from solbench.suite._source import ProblemSource

TARGET = {"L1": 94, "L2": 82, "Quant": 33, "FIB": 26}
"""Problems a tier, when the suite is complete."""
TARGET_MODELS = 124


@dataclass(frozen=True, slots=True)
class TierCount:
    """One line of the composition table."""

    tier: str
    problems: int
    target: int
    forward: int
    backward: int
    workloads: int


@dataclass(frozen=True, slots=True)
class Composition:
    """All counts of a set of problems."""

    tiers: tuple[TierCount, ...]
    models: int
    read: int
    """Models whose sizes were read, wherever they are named; the others were not confirmed."""
    domains: Mapping[str, int]
    """Distinct models a domain."""
    precisions: Mapping[str, int]
    families: Mapping[str, int]


def composition(sources: Iterable[ProblemSource]) -> Composition:
    """Count problems, models, precisions."""
    problems = [source.problem for source in sources]
    named = [model for each in problems for model in each.models]
    models = {model.id: model.domain for model in named}
    unread = {model.id for model in named if not model.read}
    return Composition(
        tiers=tuple(_tier(tier, problems) for tier in TARGET),
        models=len(models),
        read=len(models) - len(unread),
        domains=Counter(models.values()),
        precisions=Counter(map(precision, problems)),
        families=Counter(each.family for each in problems),
    )


def _tier(tier: str, problems: Iterable[Problem]) -> TierCount:
    mine = [each for each in problems if each.tier == tier]
    backward = sum(each.direction == "backward" for each in mine)
    return TierCount(
        tier=tier,
        problems=len(mine),
        target=TARGET[tier],
        forward=len(mine) - backward,
        backward=backward,
        workloads=sum(len(each.workloads.values) for each in mine),
    )


def precision(problem: Problem) -> str:
    """The narrowest floating dtype among the tensor inputs."""
    dtypes = {each.type.dtype for each in problem.inputs.values() if isinstance(each, Input)}
    floats = [spec.dtype_of(name) for name in dtypes if spec.dtype_of(name).kind == "float"]
    if not floats:
        return "none"
    # Of float16 and bfloat16, equally wide, the second counts where both occur.
    narrowest = min(floats, key=lambda d: (d.bytes_per_element / d.values_per_element, d.name))
    return narrowest.name
