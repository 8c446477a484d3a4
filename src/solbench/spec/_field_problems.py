"""How a model's own rules report: every broken one at once, each with its key and remedy."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field
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


_OBEYED = frozenset({"Cc", "Cf", "Cs"})
"""Unicode's control, format and surrogate characters: a terminal that shows a name would obey them."""


def _shown_as_it_is(name: str) -> str:
    if any(unicodedata.category(char) in _OBEYED for char in name):
        refuse_if([FieldProblem("holds control characters", remedy="Use printable ones.")])
    return name


Name = Annotated[str, Field(min_length=1), AfterValidator(_shown_as_it_is)]
"""What a thing is called, in tables and in file names."""
