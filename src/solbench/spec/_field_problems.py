"""How a model's own rules report: every broken one at once, each with its key and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

PROBLEMS_CODE = "solbench_rules"


@dataclass(frozen=True, slots=True)
class FieldProblem:
    what: str
    path: tuple[str | int, ...] = ()
    """Below the model or field that reports it."""
    remedy: str | None = None
    of_axis: bool = False


def refuse_if(problems: Sequence[FieldProblem]) -> None:
    """Make pydantic report ``problems``, if there are any."""
    if problems:
        raise PydanticCustomError(
            PROBLEMS_CODE,
            "{text}",
            {
                "text": "; ".join(problem.what for problem in problems),
                "problems": tuple(problems),
            },
        )
