"""Inputs and expected outputs of one workload. Lives in the judge, and nowhere else."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from solbench.gate import GateResult, OutputError
from solbench.judge._choices import Choices
from solbench.judge._float64 import run_float64
from solbench.judge._layouts import ArgumentValue
from solbench.judge._rules import BudgetRule, Rule, rule_of
from solbench.judge._second_look import Judged, look_again, settled_truth, undecided
from solbench.judge._sections import Section
from solbench.judge._variations import varied
from solbench.spec import (
    Problem,
    Workload,
    contained,
    load_reference,
    make_inputs,
    normalise_outputs,
    reference_failure,
)

_VARIABLE = frozenset({"float64", "float32", "float16", "bfloat16"})
_DEVICE_SHARE = 0.2
"""Inputs widened to float64 may take this share of a GPU's free memory; larger ones go to the host."""


Within = Callable[[Section], AbstractContextManager[None]]


def _unwatched(section: Section) -> AbstractContextManager[None]:
    return nullcontext()


class Oracle:
    """Runs the reference on fresh inputs, at its declared precision and in float64.

    ``weights_seed``: the seed of the inputs that stay over calls, where the problem lets solutions
    repack its weights; ``None`` leaves all inputs to change. ``within`` is entered around the problem's
    own code.
    """

    def __init__(
        self,
        problem: Problem,
        workload: Workload,
        device: str,
        weights_seed: int | None = None,
        within: Within = _unwatched,
    ) -> None:
        self.problem = problem
        self.workload = workload
        self.rule: Rule = rule_of(problem, workload)
        self.errors: dict[str, OutputError] = {}
        """Output → largest error of the reference against float64 that was seen."""
        self._device = device
        self._within = within
        with within(Section.REFERENCE):
            self._run: Callable[..., Any] = load_reference(problem)
        self._weights_seed = weights_seed if fixed_weights(problem) else None
        self._weights: dict[str, torch.Tensor] | None = None
        self.seconds: list[float] = []
        """Time of each run of the reference, in this process; not a measurement."""
        self._float64_on_host = False
        """Once it was too large for the device."""
        self._scalars: dict[str, ArgumentValue] | None = None
        self.held_scalars: dict[str, ArgumentValue] = {}
        """Scalars that the entrypoint chose anew, and the first value, which all calls get."""
        self.other_choices = OtherChoices()
        self._writes_inputs = False

    def inputs(self, seed: int, variation: str = "") -> dict[str, ArgumentValue]:
        """The arguments of one call, in order. A worker is told scalars once, so they keep the values
        that they have first; weights that may be repacked keep theirs too."""
        with self._within(Section.INPUTS):
            made = make_inputs(self.problem, self.workload, seed, self._device)
        scalars: dict[str, ArgumentValue] = {
            name: value for name, value in made.items() if not isinstance(value, torch.Tensor)
        }
        first = self._scalars = scalars if self._scalars is None else self._scalars
        self.held_scalars |= {
            name: first[name] for name in first if repr(scalars[name]) != repr(first[name])
        }
        values = made | first | self._fixed()
        if not variation:
            return values
        return varied(values, self.varied_inputs(variation), variation, seed)

    def _fixed(self) -> dict[str, torch.Tensor]:
        """Copies of the weights: a reference may write into its inputs."""
        if self._weights_seed is None:
            return {}
        if self._weights is None:
            with self._within(Section.INPUTS):
                made = make_inputs(self.problem, self.workload, self._weights_seed, self._device)
            tensors = ((name, made[name]) for name in fixed_weights(self.problem))
            self._weights = {n: value for n, value in tensors if isinstance(value, torch.Tensor)}
        return {name: value.clone() for name, value in self._weights.items()}

    def varied_inputs(self, variation: str) -> tuple[str, ...]:
        """The inputs that a variation may change: those that our own problem names for it; of other
        problems, the floating ones that are drawn at random."""
        own = self.problem.definition.solbench
        if own is not None:
            return next((names for k, names in own.variations.items() if k == variation), ())
        return tuple(
            name
            for name, tensor in self.problem.definition.inputs.items()
            if tensor.dtype in _VARIABLE and self._is_random(name)
        )

    def _is_random(self, name: str) -> bool:
        descriptor = self.workload.inputs.get(name)
        return descriptor is None or descriptor.type == "random"

    def expected(self, inputs: Mapping[str, ArgumentValue]) -> dict[str, torch.Tensor]:
        """What the reference makes of them; it may write into them. Raises ``ReferenceFailed``."""
        start, before = time.perf_counter(), _versions(inputs)
        outputs = self._outputs(inputs)
        self.seconds.append(time.perf_counter() - start)
        self._writes_inputs |= _versions(inputs) != before
        return outputs

    def _outputs(
        self, inputs: Mapping[str, ArgumentValue], mode: AbstractContextManager[Any] | None = None
    ) -> dict[str, torch.Tensor]:
        try:
            with self._within(Section.REFERENCE), contained(), mode or nullcontext():
                returned = self._run(*inputs.values())
        except (Exception, SystemExit) as error:  # the reference is the problem's code, not ours
            raise reference_failure(self.problem, error) from error
        outputs = normalise_outputs(self.problem, returned, self.workload)
        # Contiguous clones: an output may be a view of an input, or of another output.
        return {name: value.detach().contiguous().clone() for name, value in outputs.items()}

    def truth(self, inputs: Mapping[str, ArgumentValue]) -> dict[str, torch.Tensor]:
        """What the reference makes of them in float64, on their own device or, where there is no room, on
        the host. The inputs stay. Raises ``ReferenceFailed``."""
        if not self._float64_on_host and self._too_large(inputs):
            self._float64_on_host = True
        try:
            returned = self._in_float64(inputs)
        except (Exception, SystemExit) as error:
            raise reference_failure(self.problem, error) from error
        outputs = normalise_outputs(self.problem, returned, self.workload)
        return {name: value.detach().to(self._device) for name, value in outputs.items()}

    def _in_float64(self, inputs: Mapping[str, ArgumentValue]) -> Any:
        """Temporaries of a reference may be any number of times its inputs: where they do not fit on the
        device, it is the host from then on."""
        if not self._float64_on_host:
            with contextlib.suppress(torch.OutOfMemoryError):
                return self._float64_at(self._device, inputs)
            self._float64_on_host = True
            torch.cuda.empty_cache()  # the submission needs what the attempt has taken
        return self._float64_at("cpu", inputs)

    def _float64_at(self, place: str, inputs: Mapping[str, ArgumentValue]) -> Any:
        moved = {
            name: value.to(place) if isinstance(value, torch.Tensor) else value
            for name, value in inputs.items()
        }
        with self._within(Section.FLOAT64), contained():
            return run_float64(self._run, moved)

    def _too_large(self, inputs: Mapping[str, ArgumentValue]) -> bool:
        if not self._device.startswith("cuda"):
            return False
        tensors = (value for value in inputs.values() if isinstance(value, torch.Tensor))
        free, _ = torch.cuda.mem_get_info(self._device)
        return sum(8 * value.numel() for value in tensors) > _DEVICE_SHARE * free

    def compare(
        self,
        outputs: Sequence[Mapping[str, torch.Tensor]],
        expected: Sequence[Mapping[str, torch.Tensor]],
        inputs: Sequence[Mapping[str, ArgumentValue]],
    ) -> list[GateResult]:
        """The problem's rule over all outputs of each call. ``inputs`` serve where a call seems wrong."""
        gates = self.rule.calls(outputs, expected, self.errors)
        for number, gate in enumerate(gates):
            if gate.passed:
                continue
            first = Judged(gate, expected[number], {})
            gates[number] = self._again(inputs[number], outputs[number], first, self.errors).gate
            if not gates[number].passed:
                break  # the verdict has fallen
        return gates

    def exactly(
        self,
        inputs: Mapping[str, ArgumentValue],
        outputs: Mapping[str, torch.Tensor],
        expected: Mapping[str, torch.Tensor],
        truth: Mapping[str, torch.Tensor],
        errors: Mapping[str, OutputError],
    ) -> Judged:
        """One call beside float64. The result tells what it was compared with in the end."""
        settled = self.settled(inputs, expected, truth)
        gate = self.rule.exactly(outputs, expected, settled, errors)
        return self._again(inputs, outputs, Judged(gate, expected, settled), errors)

    def settled(
        self,
        inputs: Mapping[str, ArgumentValue],
        expected: Mapping[str, torch.Tensor],
        truth: Mapping[str, torch.Tensor],
    ) -> Mapping[str, torch.Tensor]:
        """float64 that follows the reference's choices where both all but tie; own problems only."""
        if not self._may_choose:
            return truth
        return settled_truth(lambda: self.choices(inputs), expected, truth)

    def undecided(self, inputs: Mapping[str, ArgumentValue]) -> str:
        """Why choices on the way do not determine the outputs of our own problem; empty if they do."""
        if not isinstance(self.rule, BudgetRule) or self._writes_inputs:
            return ""
        return undecided(self.choices(inputs), self.errors, self.rule.budget)

    def choices(self, inputs: Mapping[str, ArgumentValue]) -> Choices:
        """What the reference chooses on them, and may choose. Raises ``ReferenceFailed``."""
        return Choices(lambda mode: self._outputs(inputs, mode))

    @property
    def _may_choose(self) -> bool:
        """The public rule knows no second look; inputs that were written to are no longer there for one."""
        return isinstance(self.rule, BudgetRule) and not self._writes_inputs

    def _again(
        self,
        inputs: Mapping[str, ArgumentValue],
        outputs: Mapping[str, torch.Tensor],
        first: Judged,
        errors: Mapping[str, OutputError],
    ) -> Judged:
        rule = self.rule
        wrong = first.gate.status == "INCORRECT_NUMERICAL" and first.gate.reference_is_finite
        if not (wrong and self._may_choose and isinstance(rule, BudgetRule)):
            return first
        judged = look_again(self.choices(inputs), rule.either, outputs, first, errors, rule.budget)
        self.other_choices.add(judged)
        return judged


@dataclass(slots=True)
class OtherChoices:
    """What second looks found, over all calls."""

    calls: int = 0
    rows: int = 0
    rounded: int = 0

    def add(self, judged: Judged) -> None:
        """Take in one call."""
        if judged.gate.passed:
            self.calls += 1
            self.rows += judged.other_rows
            self.rounded += judged.rounded

    def in_words(self) -> str:
        """For the trace; empty if there were none."""
        if not self.calls:
            return ""
        return (
            f"{self.calls} calls are right by choices that the reference might as well have made: "
            f"{self.rows} rows follow from values that all but tie, {self.rounded} calls round another way"
        )


def _versions(inputs: Mapping[str, ArgumentValue]) -> list[int]:
    """Torch counts the writes into each tensor."""
    return [value._version for value in inputs.values() if isinstance(value, torch.Tensor)]


def fixed_weights(problem: Problem) -> tuple[str, ...]:
    """Inputs that keep value and address over the calls of a worker: the weights of our own problems, where
    these let solutions repack them."""
    own = problem.definition.solbench
    if own is None or not own.policy.prepacked_weights:
        return ()
    return own.weights
