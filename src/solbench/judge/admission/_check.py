"""Admission of a workload: can its gate tell right answers from answers that take no work?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch

from solbench.errors import ReferenceFailed
from solbench.gate import OutputError, measure_error, official_gate_all
from solbench.judge._layouts import ArgumentValue
from solbench.judge._oracle import Oracle
from solbench.judge._variations import VARIATIONS
from solbench.judge.admission._answers import NULL_ANSWERS, copies, in_lower_precision
from solbench.judge.admission._values import (
    MOST_ERROR_ULPS,
    different_values,
    error_ulps,
    same_value,
)
from solbench.spec import Tolerance

Outcome = Literal["ok", "failed", "open"]
Inputs = Mapping[str, ArgumentValue]
Outputs = dict[str, torch.Tensor]

SEEDS = 3
"""Draws on which the reference's error is measured."""
_ROOM = 0.25
"""Of the tolerance: an official problem's reference must be so near to float64 under a variation."""
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check; ``open`` leaves the question open."""

    check: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """What was found about one workload, and what was measured on the way."""

    workload: str
    findings: tuple[Finding, ...]
    errors: Mapping[str, OutputError] = field(default_factory=dict)
    """Output → error of the reference against float64."""
    lower: Mapping[str, OutputError] = field(default_factory=dict)
    """Output → the same with inputs of the next lower precision."""
    variations: tuple[str, ...] = ()
    """Other values on which the reference is sound with room to spare."""

    @property
    def passed(self) -> bool:
        """No check failed; some may be open."""
        return not any(finding.outcome == "failed" for finding in self.findings)

    @property
    def is_unsound(self) -> bool:
        """Whether the reference fails its own rule, so that no answer can be right."""
        return any(each.check == "reference" and each.outcome == "failed" for each in self.findings)

    @property
    def has_truth(self) -> bool:
        """Whether float64 says what is right here."""
        return any(each.check == "float64" and each.outcome == "ok" for each in self.findings)

    def reasons(self) -> str:
        """What failed, in words; empty if nothing did."""
        failed = (each for each in self.findings if each.outcome == "failed")
        return "; ".join(f"{each.check}: {each.detail}" for each in failed)


def admit(oracle: Oracle, seed: Callable[[int], int], *, seconds: float = 20.0) -> Admission:
    """Check one workload. ``seed(n)`` gives the seed of the n-th draw.

    Raises ``ReferenceFailed`` if the reference cannot be run at its declared precision. Checks that are not
    begun within ``seconds`` are open. The errors of the reference are also left in the oracle.
    """
    return _Check(oracle, seed, seconds).result()


class _Check:
    """The runs of one workload that several checks share."""

    def __init__(self, oracle: Oracle, seed: Callable[[int], int], seconds: float) -> None:
        self._oracle = oracle
        self._seed = seed
        self._end = time.perf_counter() + seconds
        self._inputs: Inputs = oracle.inputs(seed(0))
        self._expected: Outputs = oracle.expected(_copied(self._inputs))
        self._truth: Outputs = {}
        self._lower: dict[str, OutputError] = {}
        self._variations: list[str] = []
        own = oracle.problem.definition.solbench
        self._own = own is not None
        self._lower_is_allowed = own is not None and own.policy.lower_precision

    def result(self) -> Admission:
        findings: list[Finding] = []
        for name, check in self._checks():
            findings.append(self._finding(name, check))
            if name == "reference" and findings[-1].outcome == "failed":
                break  # there is no right answer to compare others with
        return Admission(
            self._oracle.workload.uuid,
            tuple(findings),
            dict(self._oracle.errors),
            self._lower,
            tuple(self._variations),
        )

    def _checks(self) -> Iterator[tuple[str, Callable[[], Finding]]]:
        yield "reference", self._reference_is_sound
        yield "float64", self._near_float64
        if self._own:
            yield "choices", self._choices_are_made
        yield "null answers", self._null_answers_fail
        yield "lower precision", self._lower_precision_fails
        yield "inputs read", self._inputs_are_read
        if not self._own:
            yield "variations", self._sound_variations

    def _finding(self, name: str, check: Callable[[], Finding]) -> Finding:
        if time.perf_counter() > self._end:
            return Finding(name, "open", "there was no time left for it")
        return check()

    def _reference_is_sound(self) -> Finding:
        gate = self._oracle.rule.sound(self._expected)
        return Finding("reference", "ok" if gate.passed else "failed", gate.reason)

    def _near_float64(self) -> Finding:
        """The reference against float64, on several draws; their largest error is kept."""
        for number in range(SEEDS):
            inputs = self._inputs if number == 0 else self._oracle.inputs(self._seed(number))
            try:
                truth = self._oracle.truth(inputs)
            except ReferenceFailed as error:
                outcome: Outcome = "failed" if self._own else "open"
                return Finding("float64", outcome, f"it does not run in float64: {error}")
            expected = self._expected
            if number:
                expected = self._oracle.expected(inputs)
            truth = dict(self._oracle.settled(inputs, expected, truth))
            if number == 0:
                self._truth = truth
            complaint = self._far_from(expected, truth)
            if complaint:
                return Finding("float64", "failed", complaint)
            self._learn(expected, truth)
            if time.perf_counter() > self._end:
                break
        worst = max((error_ulps(o, self._truth[n]) for n, o in self._expected.items()), default=0.0)
        return Finding("float64", "ok", f"{worst:.2g} ulp from it")

    def _choices_are_made(self) -> Finding:
        """Outputs may follow from choices between values that all but tie, in few rows."""
        detail = self._oracle.undecided(self._inputs)
        return Finding("choices", "failed" if detail else "ok", detail)

    def _learn(self, expected: Outputs, truth: Outputs) -> None:
        for name, output in expected.items():
            error = measure_error(output, truth[name])
            known = self._oracle.errors.get(name, error)
            self._oracle.errors[name] = error.at_least(known)

    def _far_from(self, expected: Outputs, truth: Outputs, share: float = _HALF) -> str:
        """Own problems: within so many ulp. Others: within a share of their tolerance."""
        for name, output in expected.items():
            if output.shape != truth[name].shape:
                return f"{name} has another shape in float64"
            if self._own and error_ulps(output, truth[name]) > MOST_ERROR_ULPS:
                ulps = error_ulps(output, truth[name])
                return f"{name} is {ulps:.0f} ulp from float64, {MOST_ERROR_ULPS:.0f} may be"
        if self._own:
            return ""
        tolerance = _share_of(self._oracle.workload.tolerance, share)
        right = {name: value.to(expected[name].dtype) for name, value in truth.items()}
        gate = official_gate_all(expected, right, tolerance)
        return "" if gate.passed else f"at {share:g} of the tolerance: {gate.reason}"

    def _passes(self, answer: Outputs) -> bool:
        errors = self._oracle.errors
        if self._own and not errors:
            return False  # it is refused for its float64
        if self._truth and errors:
            return self._oracle.rule.exactly(answer, self._expected, self._truth, errors).passed
        return self._oracle.rule.calls([answer], [self._expected], errors)[0].passed

    def _null_answers_fail(self) -> Finding:
        """Each output by itself, the others right."""
        passing = []
        for name, output in self._expected.items():
            if not output.numel():
                continue
            answers = {kind: make(output) for kind, make in NULL_ANSWERS.items()}
            copied = copies(self._inputs, output)
            answers |= {f"a copy of {key}": value for key, value in copied.items()}
            for kind, answer in answers.items():
                if self._passes({**self._expected, name: answer}):
                    passing.append(f"{name}: {kind} passes")
        return Finding("null answers", "failed" if passing else "ok", "; ".join(passing))

    def _lower_precision_fails(self) -> Finding:
        check = "lower precision"
        if self._lower_is_allowed:
            return Finding(check, "ok", "the problem allows it")
        lowered = in_lower_precision(_copied(self._inputs))
        if all(same_value(lowered[name], value) for name, value in self._inputs.items()):
            return Finding(check, "ok", "no input has a lower precision")
        try:
            answer = self._oracle.expected(lowered)
        except ReferenceFailed as error:
            return Finding(check, "open", str(error))
        if self._truth:
            self._lower = {n: measure_error(answer[n], self._truth[n]) for n in answer}
        if self._passes(answer):
            return Finding(check, "failed", "inputs of the next lower precision pass")
        return Finding(check, "ok")

    def _inputs_are_read(self) -> Finding:
        """Another value of any one input changes some output, or is refused by the reference."""
        others = self._oracle.inputs(self._seed(SEEDS))
        unread = []
        for name, value in self._inputs.items():
            if time.perf_counter() > self._end:
                return Finding("inputs read", "open", "there was no time left for all of them")
            if isinstance(value, torch.Tensor) and _says_nothing(value, others[name]):
                continue
            if not self._is_read(name, others[name]):
                unread.append(name)
        detail = f"no output depends on {', '.join(unread)}" if unread else ""
        return Finding("inputs read", "failed" if unread else "ok", detail)

    def _is_read(self, name: str, other: ArgumentValue) -> bool:
        for value in different_values(self._inputs[name], other):
            try:
                outputs = self._oracle.expected({**_copied(self._inputs), name: value})
            except ReferenceFailed:
                return True  # it looked at the value and could not work with it
            if any(not same_value(outputs[key], self._expected[key]) for key in self._expected):
                return True
        return False

    def _sound_variations(self) -> Finding:
        """Which other values the reference answers well within the tolerance."""
        for kind in VARIATIONS if self._truth else ():
            if not self._oracle.varied_inputs(kind) or time.perf_counter() > self._end:
                continue
            inputs = self._oracle.inputs(self._seed(0), kind)
            try:
                truth = self._oracle.truth(inputs)
                expected = self._oracle.expected(inputs)
            except ReferenceFailed:
                continue
            sound = self._oracle.rule.sound(expected).passed
            if sound and not self._far_from(expected, truth, _ROOM):
                self._variations.append(kind)
        return Finding("variations", "ok", ", ".join(self._variations) or "none")


def _says_nothing(value: torch.Tensor, other: ArgumentValue) -> bool:
    """It is empty, or its one element is the same in every draw, as the length of a single sequence is."""
    return not value.numel() or (value.numel() == 1 and same_value(value, other))


def _share_of(tolerance: Tolerance, share: float) -> Tolerance:
    cap = tolerance.max_error_cap
    return tolerance.model_copy(
        update={
            "max_atol": share * tolerance.max_atol,
            "max_rtol": share * tolerance.max_rtol,
            "max_error_cap": None if cap is None else share * cap,
        }
    )


def _copied(inputs: Inputs) -> dict[str, ArgumentValue]:
    """References may write into their inputs."""
    return {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}
