"""Gates of numbers, on the smoke workloads: the error budget tells right answers from wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from solbench import spec
from solbench.gate import ErrorBudget, budget_gate, measure_error
from solbench.judge.admission import (
    MOST_ERROR_ULPS,
    NULL_ANSWERS,
    Change,
    Choices,
    copies,
    different_values,
    error_ulps,
    in_lower_precision,
    run_float64,
    run_without_last_step,
    same_value,
    undecided,
    varied,
)
from solbench.suite._export import build
from solbench.suite._source import ProblemSource
from solbench.suite.admission._answer import Answer, unless
from solbench.suite.admission._faults import FAULTS

Outputs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class _Run:
    """The reference on one smoke workload."""

    workload: spec.Workload
    inputs: Mapping[str, Any]
    outputs: Outputs
    oracle: Outputs

    @property
    def label(self) -> str:
        return " ".join(f"{axis}={size}" for axis, size in self.workload.axes.items())


class Numbers:
    """One problem's smoke runs, made once for all gates."""

    def __init__(self, source: ProblemSource) -> None:
        self._problem = build(source, smoke=True)
        self._fixed_values = source.problem.fixed_values
        gate = source.problem.gate
        self._budget = ErrorBudget(gate.rms_multiplier, gate.max_multiplier)

    @cached_property
    def _reference(self) -> Any:
        return spec.load_reference(self._problem)

    @cached_property
    def _runs(self) -> tuple[_Run, ...]:
        return tuple(self._run(workload) for workload in self._problem.workloads)

    def _run(self, workload: spec.Workload) -> _Run:
        inputs = self._inputs(workload, seed=1)
        outputs = self._outputs(workload, self._reference(*_copied(inputs).values()))
        oracle = self._outputs(workload, run_float64(self._reference, inputs))
        return _Run(workload, inputs, outputs, oracle)

    def _inputs(self, workload: spec.Workload, seed: int) -> dict[str, Any]:
        return spec.make_inputs(self._problem, workload, seed)

    def _outputs(self, workload: spec.Workload, returned: Any) -> Outputs:
        return spec.normalise_outputs(self._problem, returned, workload)

    def _passes(self, run: _Run, name: str, answer: torch.Tensor) -> bool:
        return budget_gate(answer, run.outputs[name], run.oracle[name], self._budget).passed

    def reference_is_sound(self) -> Answer:
        """Declared shapes and dtypes; finite; equal on a second run; near float64."""
        problems = [problem for run in self._runs for problem in self._soundness(run)]
        worst = max(error_ulps(r.outputs[n], r.oracle[n]) for r in self._runs for n in r.outputs)
        return unless(problems, f"{worst:.2g} ulp from float64")

    def _soundness(self, run: _Run) -> Iterator[str]:
        again = self._outputs(run.workload, self._reference(*_copied(run.inputs).values()))
        for name, output in run.outputs.items():
            declared = self._problem.definition.outputs[name].dtype
            shape = self._problem.output_shape(run.workload, name)
            if output.dtype != spec.torch_dtype(declared) or tuple(output.shape) != shape:
                yield f"{name} is {output.dtype} {list(output.shape)}, declared {declared} {shape}"
            elif not self._passes(run, name, again[name]):
                yield f"{name} of a second run does not pass ({run.label})"
            elif error_ulps(output, run.oracle[name]) > MOST_ERROR_ULPS:
                yield f"{name} is {error_ulps(output, run.oracle[name]):.0f} ulp from float64"

    def sound_on_other_values(self) -> Answer:
        """On the values that its inputs may also have, the reference is as near to float64, without NaN.
        A problem whose inputs may have no others says why."""
        own = self._problem.definition.solbench
        kinds = own.variations if own is not None else {}
        if not kinds and not self._fixed_values:
            return unless(["no input has 'vary', and 'fixed_values' does not say why"])
        problems = [
            f"{kind}: {problem} ({run.label})"
            for kind, names in kinds.items()
            for run in self._runs
            for problem in self._unsound_on(run.workload, names, kind)
        ]
        return unless(problems, ", ".join(kinds) or f"none: {self._fixed_values}")

    def _unsound_on(
        self, workload: spec.Workload, names: tuple[str, ...], kind: str
    ) -> Iterator[str]:
        inputs = varied(self._inputs(workload, seed=1), names, kind, seed=1)
        oracle = self._outputs(workload, run_float64(self._reference, inputs))
        outputs = self._outputs(workload, self._reference(*inputs.values()))
        for name, output in outputs.items():
            ulps = error_ulps(output, oracle[name])
            if bool(output.isnan().any()):
                yield f"{name} has NaN"
            elif not ulps <= MOST_ERROR_ULPS:
                yield f"{name} is {ulps:.0f} ulp from float64"

    def choices_are_made(self) -> Answer:
        """Few rows of its outputs follow from choices between values that all but tie."""
        problems = []
        for run in self._runs:
            choices = Choices(lambda mode, run=run: self._under(mode, run))  # type: ignore[misc]
            errors = {n: measure_error(run.outputs[n], run.oracle[n]) for n in run.outputs}
            problem = undecided(choices, errors, self._budget)
            problems += [f"{problem} ({run.label})"] if problem else []
        return unless(problems)

    def _under(self, mode: AbstractContextManager[Any], run: _Run) -> Outputs:
        with mode:
            returned = self._reference(*_copied(run.inputs).values())
        return self._outputs(run.workload, returned)

    def null_answers_fail(self) -> Answer:
        """For each output by itself: zeros, ones, its mean, noise of its distribution, a copied input."""
        problems = [problem for run in self._runs for problem in self._wrong(run, NULL_ANSWERS)]
        for run in self._runs:
            for name, output in run.outputs.items():
                problems += [
                    f"{name}: a copy of {key} passes ({run.label})"
                    for key, value in copies(run.inputs, output).items()
                    if self._passes(run, name, value)
                ]
        return unless(problems)

    def faults_fail(self) -> Answer:
        """For each output by itself, and for the program: a bug that real kernels have."""
        problems = [problem for run in self._runs for problem in self._wrong(run, FAULTS)]
        dropped = 0
        for run in self._runs:
            lower = self._reference(*in_lower_precision(_copied(run.inputs)).values())
            if self._all_pass(run, self._outputs(run.workload, lower)):
                problems.append(f"the next lower precision passes ({run.label})")
            without = run_without_last_step(self._reference, _copied(run.inputs))
            answer = self._outputs(run.workload, without)
            if all(torch.equal(answer[name], run.outputs[name]) for name in answer):
                continue  # no contraction or reduction in it
            dropped += 1
            if self._all_pass(run, answer):
                problems.append(f"the last k step may be dropped ({run.label})")
        return unless(problems, "" if dropped else "no k step to drop")

    def _wrong(self, run: _Run, answers: Mapping[str, Change]) -> Iterator[str]:
        for name, output in run.outputs.items():
            for kind, change in answers.items():
                if self._passes(run, name, change(output)):
                    yield f"{name}: {kind} passes ({run.label})"

    def _all_pass(self, run: _Run, answers: Outputs) -> bool:
        return all(self._passes(run, name, answer) for name, answer in answers.items())

    def every_input_is_read(self) -> Answer:
        """Another value of any one input changes some output, or is refused by the reference."""
        run = self._runs[0]
        others = self._inputs(run.workload, seed=2)
        unread = [name for name in run.inputs if not self._is_read(run, name, others[name])]
        return unless([f"no output depends on {', '.join(unread)}"] if unread else [])

    def _is_read(self, run: _Run, name: str, other: Any) -> bool:
        for value in different_values(run.inputs[name], other):
            changed = _copied(run.inputs) | {name: value}
            try:
                outputs = self._outputs(run.workload, self._reference(*changed.values()))
            except (RuntimeError, IndexError, ValueError):
                return True  # it looked at the value and could not work with it
            if any(not same_value(outputs[key], run.outputs[key]) for key in outputs):
                return True
        return False

    def seeds_differ(self) -> Answer:
        """Another seed gives other inputs and other outputs; the same seed the same inputs."""
        problems: list[str] = []
        for run in self._runs:
            same, other = self._inputs(run.workload, 1), self._inputs(run.workload, 2)
            if not all(same_value(same[name], run.inputs[name]) for name in same):
                problems.append(f"the same seed gives other inputs ({run.label})")
            outputs = self._outputs(run.workload, self._reference(*other.values()))
            problems += [
                f"{name} does not change with the seed ({run.label})"
                for name, output in outputs.items()
                if torch.equal(output, run.outputs[name])
            ]
        return unless(problems)


def _copied(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """References may write into their inputs."""
    return {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}
