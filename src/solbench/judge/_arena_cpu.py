"""Buffers of a CPU worker, and a quick look at its outputs.

Inputs lie in memfds that are sealed against any further writing but the judge's own mapping; the worker maps
them privately, so the judge's bytes cannot be changed. Outputs lie in memfds that both sides map.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import torch

from solbench.jail import SlotBuffers
from solbench.jail.protocol import Layout
from solbench.judge._device import Poison, Run
from solbench.judge._layouts import (
    ArgumentValue,
    bytes_of,
    guard_ranges,
    tensor_arguments,
    tensor_view,
)

ByteArray: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]"
PositionArray: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"

# Python 3.11 and 3.12 do not name this one (linux/fcntl.h).
F_SEAL_FUTURE_WRITE: Final = 0x10
_INPUT_SEALS: Final = F_SEAL_FUTURE_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_OUTPUT_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW

PROBE_BYTES: Final = 64
"""Output bytes read before the clock stops. A share f that is written later is missed with
probability (1 - f) ** 64 in one call: half the time at one in a hundred, and every timed call is
probed anew."""


class _Mapped:
    """A memfd and the judge's shared, writable mapping of it."""

    def __init__(self, name: str, size: int, seals: int) -> None:
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self._map = mmap.mmap(self.fd, size)
        # Sealed after mapping: F_SEAL_FUTURE_WRITE spares mappings that exist.
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)

    def close(self) -> None:
        """Give the descriptor back, and the mapping with its last view: not only when the garbage collector
        finds the evaluation that it served."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            self.bytes = torch.empty(0, dtype=torch.uint8)
            del self._map


class CpuArena:
    """Slots in memfds."""

    def __init__(self, layout: Layout, sharing: CpuArena | None = None) -> None:
        self.layout = layout
        self._owns_inputs = sharing is None
        self._inputs: list[_Mapped] = (
            [_Mapped("inputs", layout.input_bytes, _INPUT_SEALS) for _ in range(layout.slots)]
            if sharing is None
            else sharing._inputs
        )
        self._outputs = [
            _Mapped("outputs", layout.output_bytes, _OUTPUT_SEALS) for _ in range(layout.slots)
        ]
        # Not torch's own generator, whose first seed everyone knows.
        self._noise = torch.Generator().manual_seed(
            int.from_bytes(os.urandom(8), "little", signed=True)
        )
        self._guards = [
            (start, end, _random_bytes(end - start)) for start, end in guard_ranges(layout)
        ]

    def buffers(self) -> list[SlotBuffers]:
        pairs = zip(self._inputs, self._outputs, strict=True)
        return [SlotBuffers(inputs.fd, outputs.fd) for inputs, outputs in pairs]

    def device_memory(self) -> None:
        """None: descriptors are passed."""

    def show(self, inputs: Mapping[str, ArgumentValue]) -> None:
        for slot in range(self.layout.slots):
            self.fill(slot, inputs)
        self.poison(range(self.layout.slots), "zeros")

    def kept(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> dict[str, ArgumentValue]:
        return dict(inputs)

    def fill(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> None:
        if not self._owns_inputs:
            return
        buffer = self._inputs[slot].bytes
        for field in tensor_arguments(self.layout):
            buffer[field.offset : field.offset + field.nbytes] = bytes_of(inputs[field.name])

    def poison(self, slots: range, pattern: Poison) -> None:
        for slot in slots:
            self._poison(self._outputs[slot].bytes, pattern)

    def _poison(self, buffer: torch.Tensor, pattern: Poison) -> None:
        for field in self.layout.outputs:
            piece = buffer[field.offset : field.offset + field.nbytes]
            if pattern == "zeros":
                piece.zero_()
            else:
                piece.random_(0, 256, generator=self._noise)
        for start, end, guard in self._guards:
            buffer[start:end] = guard

    def outputs(self, slot: int) -> dict[str, torch.Tensor]:
        buffer = self._outputs[slot].bytes
        return {field.name: tensor_view(buffer, field) for field in self.layout.outputs}

    def broken_guard(self, slots: range) -> str:
        for slot in slots:
            buffer = self._outputs[slot].bytes
            for start, end, guard in self._guards:
                off = buffer[start:end] != guard
                if bool(off.any()):
                    return f"byte {start + int(off.to(torch.uint8).argmax())} of the output buffer"
        return ""

    def changed_inputs(self, slots: range, values: Sequence[Mapping[str, ArgumentValue]]) -> str:
        """Always empty: the worker's mapping is private and the memfd is sealed."""
        return ""

    def probe(self, run: Run) -> Probe:
        """Positions to read when the worker says done, spread over the outputs of all slots of a
        run."""
        return Probe([self._outputs[slot].bytes.numpy() for slot in run.slots], self.layout)

    def close(self) -> None:
        for mapped in self._outputs:
            mapped.close()
        if self._owns_inputs:
            for mapped in self._inputs:
                mapped.close()


class Probe:
    """A quick look at a few output bytes, prepared before the clock starts."""

    def __init__(self, buffers: Sequence[ByteArray], layout: Layout) -> None:
        self._buffers = buffers
        each = max(1, PROBE_BYTES // len(buffers))
        self._positions = [_random_positions(layout, each) for _ in buffers]

    def read(self) -> list[ByteArray]:
        """The bytes there now."""
        pairs = zip(self._buffers, self._positions, strict=True)
        return [buffer.take(positions) for buffer, positions in pairs]


def _random_positions(layout: Layout, count: int) -> PositionArray:
    """Offsets of output bytes from the operating system's entropy: ``count`` that are each equally
    likely, and as many from outputs that are each equally likely, however small."""
    fields = [field for field in layout.outputs if field.nbytes]
    if not fields:
        return np.zeros(0, dtype=np.int64)
    random = np.random.default_rng()
    sizes = np.array([field.nbytes for field in fields])
    starts = np.array([field.offset for field in fields])
    which = np.concatenate(
        [
            random.choice(len(fields), count, p=sizes / sizes.sum()),
            random.integers(0, len(fields), count),
        ]
    )
    positions: PositionArray = starts[which] + random.integers(0, sizes[which])
    return positions


def late_write(at_done: list[ByteArray], frozen: list[ByteArray]) -> str:
    """Where the probe read something else at the acknowledgement than when the worker was stopped, in words."""
    changed = sum(int((now != then).sum()) for then, now in zip(at_done, frozen, strict=True))
    if not changed:
        return ""
    probed = sum(len(each) for each in frozen)
    return f"{changed} of {probed} output bytes probed at the acknowledgement changed after it"


def _random_bytes(count: int) -> torch.Tensor:
    return torch.frombuffer(bytearray(os.urandom(count)), dtype=torch.uint8)
