"""From a program to its graph, by the cheapest rung of the ladder that suffices."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_leaves, tree_map

from solbench.bound._programs import Program
from solbench.bound._result import CaptureRung
from solbench.bound.capture._builder import (
    CONSTANT,
    FROM_FLOATS,
    FROM_INDICES,
    FROM_SCALARS,
    INDEX_DTYPES,
)
from solbench.bound.capture._environment import watched
from solbench.bound.capture._outputs import named_outputs
from solbench.bound.capture._preparation import located, prepare
from solbench.bound.capture._recorder import Recorder
from solbench.bound.graph import Graph
from solbench.errors import CaptureError, NeedsValues

DEFAULT_SEED = 0
"""Of the inputs' contents."""
_LADDER: tuple[CaptureRung, ...] = ("fake", "values", "real")
_LEVELS = {"fake": CONSTANT, "values": FROM_SCALARS, "real": FROM_FLOATS}
DEFAULT_LIMIT_BYTES = 2 << 30
"""Memory for contents that are computed for real, at most."""


def capture(
    program: Program, rung: CaptureRung | None = None, *, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> tuple[Graph, CaptureRung]:
    """The functional graph of a program for its one workload, and the rung that it took.

    Without ``rung``, starts at ``values`` if an input holds integers or booleans, else at ``fake``, and
    climbs when the program asks for contents that the rung does not know. At ``real`` floating inputs
    have contents too: whatever control flow or an output's shape depends on is then computed for real on
    the CPU, and only that.

    Global state of torch is changed while it runs (device names, compilers): not for several threads.

    Raises
    ------
    NeedsValues
        ``rung`` was given and a higher one is needed.
    CaptureError
        The program failed, or needs more than ``limit_bytes``; the message names its line.
    """
    with _no_garbage_collection():
        return _climb(program, rung, limit_bytes)


def _climb(
    program: Program, rung: CaptureRung | None, limit_bytes: int
) -> tuple[Graph, CaptureRung]:
    attempt = _Attempt(program, limit_bytes)
    if rung is not None:
        return attempt.run(rung), rung
    current: CaptureRung = "values" if attempt.has_index_inputs() else "fake"
    while True:
        try:
            return attempt.run(current), current
        except NeedsValues as error:
            current = next(step for step in _LADDER if step == error.rung)
            # Anew: the program may have changed its inputs or kept fake tensors.
            attempt = _Attempt(program, limit_bytes)


class _Attempt:
    """One run of a program."""

    def __init__(self, program: Program, limit_bytes: int) -> None:
        self._program = program
        self._limit_bytes = limit_bytes
        self._prepared = prepare(program, DEFAULT_SEED, limit_bytes)
        self._fake_mode, self._maker = self._prepared.fake_mode, self._prepared.maker
        self._call = self._prepared.call
        self._adopted = 0

    def has_index_inputs(self) -> bool:
        """Whether some input's contents may decide the bound."""
        return any(self._level(tensor) == FROM_INDICES for tensor in self._call.inputs.values())

    def run(self, rung: CaptureRung) -> Graph:
        """Record the program."""
        recorder = Recorder(
            self._fake_mode,
            self._program.source_file,
            allowed_level=_LEVELS[rung],
            limit_bytes=self._limit_bytes,
        )
        recorder.adopt = lambda tensor: self._adopt(recorder, tensor)
        with self._fake_mode:
            for name, tensor in self._call.inputs.items():
                self._add_input(recorder, name, tensor)
            args, kwargs = tree_map(recorder.fake, (self._call.args, dict(self._call.kwargs)))
        with located(recorder), watched(recorder.contents_of), self._fake_mode, recorder:
            result = self._call.function(*args, **kwargs)
        with located(recorder), self._fake_mode:
            self._finish(recorder, result)
        return recorder.builder.graph

    def _add_input(self, recorder: Recorder, name: str, tensor: torch.Tensor) -> None:
        fake = self._maker.fake(tensor)
        made = self._maker.value_of(fake)
        value = recorder.add_input(
            tensor, fake, self._level(tensor), lambda: self._maker.shadow.contents(made)
        )
        recorder.builder.graph.inputs[name] = value

    def _level(self, tensor: torch.Tensor) -> int:
        """What the contents of an input are as good as."""
        if tensor.dtype in INDEX_DTYPES:
            return FROM_INDICES
        made = self._maker.value_of(tensor)
        # Narrow formats are quantised numbers: packing compares, but what it gives is no mask.
        structured = (
            isinstance(tensor, FakeTensor)
            and tensor.dtype.itemsize > 1
            and self._maker.builder.levels[made] < FROM_SCALARS
        )
        if structured and not _is_uniform(self._maker.shadow.contents(made)):
            # A mask or a table: made without floating draws, and no mere fill.
            return FROM_INDICES
        return FROM_SCALARS if tensor.dim() == 0 else FROM_FLOATS

    def _adopt(self, recorder: Recorder, tensor: torch.Tensor) -> None:
        """A tensor that was made with the inputs but is none of them: a table, or a hidden input."""
        if self._maker.builder.exact_alias_of(tensor) is None:
            raise CaptureError("uses a tensor of unknown origin", location=recorder.location())
        made = self._maker.value_of(tensor)
        if self._maker.builder.levels[made] == CONSTANT:
            contents = self._maker.shadow.contents(made)
            recorder.add_constant(tensor, contents)
            return
        self._add_input(recorder, self._hidden_name(tensor), tensor)

    def _hidden_name(self, tensor: torch.Tensor) -> str:
        for name, known in self._call.attributes.items():
            if known is tensor:
                return name
        self._adopted += 1
        return f"hidden.{self._adopted}"

    def _finish(self, recorder: Recorder, result: Any) -> None:
        """Name the outputs, and add the inputs that were written to."""
        graph = recorder.builder.graph
        for name, item in named_outputs(self._program, result):
            value = recorder.output_value(item)
            if value is not None:
                graph.outputs.append((name, value))
        returned = bool(graph.outputs)
        for name, value in list(graph.inputs.items()):
            latest = recorder.latest(value)
            if latest != value:
                graph.outputs.append((f"input:{name}", latest))
        in_place = result is None and bool(graph.outputs)
        if not returned and not in_place and not _only_numbers(result, graph):
            raise CaptureError(f"{self._program.name} returned no tensor")
        graph.known.update(recorder.shadow.publish(recorder.allowed_level))
        known = {*graph.known, *graph.constants}
        graph.hidden.update(recorder.shadow.hidden(recorder.allowed_level, known))


def _only_numbers(result: Any, graph: Graph) -> bool:
    """Whether a program returned counts or truths that it read from tensors: those are demanded as read."""
    leaves = tree_leaves(result)
    asked = any(not any(True for _ in node.results()) for node in graph.nodes)
    return asked and bool(leaves) and all(isinstance(leaf, bool | int | float) for leaf in leaves)


def _is_uniform(tensor: torch.Tensor) -> bool:
    if tensor.numel() < 2 or not any(tensor.stride()):
        return True
    with torch._C._DisableTorchDispatch():
        return bool((tensor == tensor[(0,) * tensor.dim()]).all())


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A growing graph has no cycles to collect, and walking it again and again takes half the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
