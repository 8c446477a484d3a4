"""Inputs and expected outputs of one workload. Lives in the judge, and nowhere else."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from solbench.gate import GateResult, OutputError
from solbench.judge._float64 import run_float64
from solbench.judge._layouts import ArgumentValue
from solbench.judge._rules import Rule, rule_of
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
        start = time.perf_counter()
        try:
            with self._within(Section.REFERENCE), contained():
                returned = self._run(*inputs.values())
        except (Exception, SystemExit) as error:  # the reference is the problem's code, not ours
            raise reference_failure(self.problem, error) from error
        outputs = normalise_outputs(self.problem, returned, self.workload)
        self.seconds.append(time.perf_counter() - start)
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
    ) -> list[GateResult]:
        """The problem's rule over all outputs of each call."""
        return self.rule.calls(outputs, expected, self.errors)


def fixed_weights(problem: Problem) -> tuple[str, ...]:
    """Inputs that keep value and address over the calls of a worker: the weights of our own problems, where
    these let solutions repack them."""
    own = problem.definition.solbench
    if own is None or not own.policy.prepacked_weights:
        return ()
    return own.weights
