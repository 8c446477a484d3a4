"""Every gate that a problem must pass, one finding each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from solbench.errors import SolBenchError
from solbench.suite._source import ProblemSource
from solbench.suite.admission._answer import Answer, Outcome
from solbench.suite.admission._bounds import BoundScope, bound_complete, bound_verified
from solbench.suite.admission._form import exports_unchanged, sizes_within_limits
from solbench.suite.admission._gradients import gradients_match_autograd
from solbench.suite.admission._held_out import held_out_sizes_are_served
from solbench.suite.admission._numbers import Numbers


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one gate."""

    gate: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ProblemCheck:
    """All findings on one problem."""

    problem: str
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """No gate failed; some may be open."""
        return all(finding.outcome != "failed" for finding in self.findings)

    @property
    def verified(self) -> bool:
        """Every gate passed, none is open."""
        return all(finding.outcome == "ok" for finding in self.findings)


def check_problem(source: ProblemSource, *, bounds: BoundScope = "two") -> ProblemCheck:
    """Run every gate on one problem; a gate that raises has failed, sizes that are too large end the check.

    ``bounds``: of two workloads, of ``"all"``, or of ``"none"``, since they take most of the time.
    """
    started = time.perf_counter()
    findings: list[Finding] = []
    for gate, test in _gates(source, bounds):
        findings.append(_finding(gate, test))
        if gate == "sizes" and findings[-1].outcome == "failed":
            break  # what is too large should not be run
    return ProblemCheck(source.name, tuple(findings), time.perf_counter() - started)


def _gates(source: ProblemSource, bounds: BoundScope) -> Iterator[tuple[str, Callable[[], Answer]]]:
    numbers = Numbers(source)
    yield "export", lambda: exports_unchanged(source)
    yield "sizes", lambda: sizes_within_limits(source)
    yield "smoke", numbers.reference_is_sound
    yield "other values", numbers.sound_on_other_values
    yield "choices", numbers.choices_are_made
    yield "null answers", numbers.null_answers_fail
    yield "faults", numbers.faults_fail
    yield "inputs read", numbers.every_input_is_read
    yield "seeds", numbers.seeds_differ
    yield "held out", lambda: held_out_sizes_are_served(source)
    if source.problem.direction == "backward":
        yield "gradients", lambda: gradients_match_autograd(source)
    if bounds != "none":
        yield "bound", lambda: bound_complete(source, bounds)
        yield "bound verified", lambda: bound_verified(source, bounds)


def _finding(gate: str, test: Callable[[], Answer]) -> Finding:
    try:
        answer = test()
    except SolBenchError as error:
        return Finding(gate, "failed", " ".join(str(error).split()))
    except Exception as error:  # noqa: BLE001 - the problem's own code ran: its failure is the finding
        return Finding(gate, "failed", f"{type(error).__name__}: {error}")
    return Finding(gate, answer.outcome, answer.detail)
