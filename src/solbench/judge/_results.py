"""What an evaluation gives, and what it may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

from solbench.judge._phases import Phase
from solbench.score import ProblemScore
from solbench.spec import Trace

if TYPE_CHECKING:
    from solbench.jail import Limits

Mode = Literal["reward", "rank"]


class Options(TypedDict, total=False):
    """How a solution is evaluated; see :func:`solbench.judge.evaluate`."""

    hardware: str | None
    mode: Mode
    require_jail: bool
    require_admission: bool
    limits: Limits | None
    timeout_s: float | None
    profile: bool


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The verdict on a solution: one trace a workload, in the problem's order, and their score.

    A reward is ``result.score``, or none where that is ``None``.
    """

    traces: tuple[Trace, ...]
    problem_score: ProblemScore
    phases: tuple[Phase, ...] = ()
    """When the parts of the work began and ended, the judge's start among them if it was started for this."""

    @property
    def passed(self) -> bool:
        """Whether every workload passed."""
        return all(trace.evaluation.status == "PASSED" for trace in self.traces)

    @property
    def score(self) -> float | None:
        """Mean over the workloads; ``None`` while withheld or where nothing can be scored."""
        return self.problem_score.score

    def summary(self) -> str:
        """One line: how many passed, and the score."""
        good = sum(trace.evaluation.status == "PASSED" for trace in self.traces)
        score = "none" if self.score is None else f"{self.score:.3f}"
        return f"{good} of {len(self.traces)} workloads passed; score {score} ({self.problem_score.note})"
