"""A second look at a call that seems wrong: does it follow from choices that the reference might have made?

Our own problems only. An honest solution that adds in another order may choose another expert for a token
whose scores all but tie, or round a value that lies all but halfway the other way. The call then is compared,
row by row, with the nearest of the answers that the reference itself gives under such choices
(:mod:`._choices`); every row must be within the same budget as ever, and only few rows may need another choice
than the reference's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch

from solbench.gate import (
    ErrorBudget,
    GateResult,
    NearestRows,
    OutputError,
    largest_allowed,
    measure_error,
    replace_rows,
    rows_allowed,
    rows_off,
    usual_largest,
)
from solbench.judge._choices import Choices

Outputs = Mapping[str, torch.Tensor]
Errors = Mapping[str, OutputError]
Judge = Callable[[Outputs, Outputs, Outputs, Errors], GateResult]
"""The rule for one call: outputs, what is expected, the same in float64 (empty where there is none), errors."""

PATIENCE_S = 20.0
"""For the answers of one call: those that would come later excuse no one."""

_ADMISSION_S = 2.0
"""For a first impression of how many rows hang on ties: other checks need their time too."""

_MOST_MOVED = 1 / 8
"""Of the largest output: a rounding that moves more, turned, is not of one factor of a long sum."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The outcome for one call, and what it was compared with."""

    gate: GateResult
    expected: Outputs
    truth: Outputs
    """Empty where there is none."""
    other_rows: int = 0
    """Rows that follow another choice than the reference's."""
    rounded: bool = False
    """Whether it passed only beside what rounding another way may move."""


def look_again(
    choices: Choices,
    judge: Judge,
    outputs: Outputs,
    first: Judged,
    errors: Errors,
    budget: ErrorBudget,
) -> Judged:
    """The call beside other choices; ``first`` where they do not explain it."""
    limits = largest_allowed(first.expected, _known_errors(first, errors), budget)
    nearest = NearestRows(outputs, first.expected, limits)
    found = first
    if choices.selects and nearest.may_be_ties:
        for answer in choices.other_selections(PATIENCE_S):
            if not nearest.offer(answer):
                continue
            found = _beside(nearest, judge, outputs, first, errors)
            if found.gate.passed or not nearest.may_be_ties:
                break
    if found.gate.passed or not choices.rounds:
        return found if found.gate.passed else first
    return _rounded_otherwise(choices, judge, outputs, found, errors) or first


def _known_errors(first: Judged, errors: Errors) -> Errors:
    """With those of the call itself, where there is float64 to tell."""
    known = dict(errors)
    for name, right in first.truth.items():
        error = measure_error(first.expected[name], right)
        known[name] = error.at_least(known.get(name, error))
    return known


def _beside(
    nearest: NearestRows, judge: Judge, outputs: Outputs, first: Judged, errors: Errors
) -> Judged:
    """In rows that follow another choice, the reference under that choice stands in for float64."""
    expected, truth = nearest.rows, dict(first.truth)
    for name, right in truth.items():
        taken = nearest.taken.get(nearest.group_of(name))
        if taken is not None:
            truth[name] = replace_rows(right, expected[name].to(right.dtype), taken)
    gate = judge(outputs, expected, truth, errors)
    return Judged(gate, expected, truth, other_rows=nearest.others)


def _rounded_otherwise(
    choices: Choices, judge: Judge, outputs: Outputs, found: Judged, errors: Errors
) -> Judged | None:
    """With the reference's error at least what its own roundings, turned, move."""
    errors = _known_errors(found, errors)
    raised = dict(errors)
    for answer in choices.other_roundings(PATIENCE_S):
        for name, own in choices.outputs.items():
            moved = measure_error(answer[name], own)
            if moved.largest <= _MOST_MOVED * moved.truth_largest:
                raised[name] = _raised(errors.get(name), moved).at_least(
                    raised.get(name, OutputError())
                )
        gate = judge(outputs, found.expected, found.truth, raised)
        if gate.passed:
            return Judged(gate, found.expected, found.truth, found.other_rows, rounded=True)
    return None


def _raised(error: OutputError | None, moved: OutputError) -> OutputError:
    """Half of what turned roundings move is added: the least multiplier makes it whole again."""
    known = error or OutputError(0.0, 0.0, moved.truth_rms, moved.truth_largest)
    return replace(known, rms=known.rms + moved.rms / 2, largest=known.largest + moved.largest / 2)


def settled_truth(choices: Callable[[], Choices], expected: Outputs, truth: Outputs) -> Outputs:
    """float64 that follows the reference's choices where both all but tie: the difference between two rows
    that are right is no error of the reference, and would be room for everyone.

    In such rows the reference stands in. ``choices`` is asked for only where some rows are suspicious.
    """
    if any(truth[name].shape != right.shape for name, right in expected.items()):
        return truth
    nearest = NearestRows(truth, expected, usual_largest(truth, expected))
    if not nearest.may_be_ties:
        return truth
    for answer in choices().other_selections(PATIENCE_S):
        nearest.offer(answer)
        if not nearest.unmatched:
            break
    settled = dict(truth)
    for name, right in expected.items():
        taken = nearest.taken.get(nearest.group_of(name))
        if taken is not None and bool(taken.any()):
            settled[name] = replace_rows(truth[name], right.to(truth[name].dtype), taken)
    return settled


def undecided(choices: Choices, errors: Errors, budget: ErrorBudget) -> str:
    """Why a problem's choices do not determine its outputs; empty if they do."""
    expected = choices.outputs
    limits = largest_allowed(expected, errors, budget)
    found: dict[int, torch.Tensor] = {}
    for answer in choices.other_selections(_ADMISSION_S):
        for rows, off in rows_off(answer, expected, limits).items():
            found[rows] = off | found.get(rows, off)
    for rows, off in found.items():
        count = int(off.sum())
        if count > rows_allowed(rows):
            return (
                f"{count} of {rows} rows follow from choices between values that all but tie, "
                f"{rows_allowed(rows)} may"
            )
    return ""
