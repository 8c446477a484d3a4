"""Buffers on an NVIDIA GPU that judge and worker share by IPC, and what the judge looks at in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import torch

from solbench.errors import DeviceError
from solbench.jail import DeviceMemory, SlotBuffers, cuda_driver
from solbench.jail.protocol import Layout, TensorField
from solbench.judge._device import Poison
from solbench.judge._layouts import (
    ArgumentValue,
    guard_ranges,
    tensor_arguments,
    tensor_view,
)

SAMPLED_BYTES = 32
"""Output bytes of each call that are looked at when the run is over: enough to catch a run of which more
than a few percent are missing, too few to warm a cache."""


class CudaArena:
    """All slots of a layout: an allocation for inputs and one for outputs.

    Inputs are first *staged* in memory of the judge's own; :meth:`deliver` brings all of them to the worker in
    one copy, so that they exist there for as short a time as possible before the run.
    """

    def __init__(self, layout: Layout, device: torch.device) -> None:
        self.layout = layout
        self._device = device
        self._owned: list[int] = []
        self._inputs_address = self._allocate(layout.input_bytes * layout.slots)
        self._outputs_address = self._allocate(layout.output_bytes * layout.slots)
        used = max((field.offset + field.nbytes for field in tensor_arguments(layout)), default=0)
        self._inputs = self._slots(self._inputs_address, layout.input_bytes)[:, :used]
        self._outputs = self._slots(self._outputs_address, layout.output_bytes)
        self._staged = torch.zeros(layout.slots, used, dtype=torch.uint8, device=device)
        self._guards = [
            (start, end, torch.randint(0, 256, (end - start,), dtype=torch.uint8, device=device))
            for start, end in guard_ranges(layout)
        ]
        self._generator = torch.Generator(device).manual_seed(int.from_bytes(os.urandom(7)))

    def _allocate(self, nbytes: int) -> int:
        block = cuda_driver.IPC_BLOCK_BYTES
        try:
            address = cuda_driver.allocate(max(1, -(-nbytes // block)) * block)
        except cuda_driver.CudaDriverError as error:
            raise DeviceError(
                f"{self._device}: no {nbytes / 1e9:.2f} GB for buffers: {error}"
            ) from error
        self._owned.append(address)
        return address

    def _slots(self, address: int, slot_bytes: int) -> torch.Tensor:
        """uint8 [slots, slot_bytes]"""
        count = self.layout.slots
        span = cuda_driver.DeviceBytes(address, count * slot_bytes)
        return torch.as_tensor(span, device=self._device).view(count, slot_bytes)

    def buffers(self) -> Sequence[SlotBuffers]:
        """None: device memory travels as handles."""
        return ()

    def device_memory(self) -> DeviceMemory:
        """Handles of the two allocations. What was filled so far is delivered: a worker may be born now."""
        self.deliver(range(self.layout.slots))
        return DeviceMemory(
            inputs=cuda_driver.export_handle(self._inputs_address).hex(),
            outputs=cuda_driver.export_handle(self._outputs_address).hex(),
        )

    def fill(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> None:
        """Stage the tensors of a call."""
        for field in tensor_arguments(self.layout):
            value = inputs[field.name]
            assert isinstance(value, torch.Tensor)
            tensor_view(self._staged[slot], field).copy_(value)

    def deliver(self, slots: range) -> None:
        """Enqueue the copy of what is staged to where the worker sees it."""
        chosen = slice(slots.start, slots.stop)
        self._inputs[chosen].copy_(self._staged[chosen])

    def poison(self, slots: range, pattern: Poison) -> None:
        buffers = self._outputs[slots.start : slots.stop]
        for field in self.layout.outputs:
            pieces = buffers[:, field.offset : field.offset + field.nbytes]
            if pattern == "zeros":
                pieces.zero_()
            else:
                pieces.random_(0, 256)
        for start, end, guard in self._guards:
            buffers[:, start:end] = guard

    def outputs(self, slot: int) -> dict[str, torch.Tensor]:
        buffer = self._outputs[slot]
        return {field.name: tensor_view(buffer, field) for field in self.layout.outputs}

    def positions(self, slots: range) -> torch.Tensor:
        """Secret places in the outputs of these calls: int64 [calls * SAMPLED_BYTES], counted from slot 0."""
        sizes = torch.tensor([field.nbytes for field in self.layout.outputs])
        ends = sizes.cumsum(0)
        shifts = torch.tensor([field.offset for field in self.layout.outputs]) - (ends - sizes)
        total = int(ends[-1]) if len(ends) else 0
        shape = (len(slots), SAMPLED_BYTES if total else 0)
        drawn = torch.randint(
            0, max(1, total), shape, generator=self._generator, device=self._device
        )
        which = torch.bucketize(drawn, ends.to(self._device), right=True)
        starts = (
            torch.arange(slots.start, slots.stop, device=self._device) * self.layout.output_bytes
        )
        places = drawn + shifts.to(self._device)[which] + starts[:, None]
        return places.view(-1)

    def sample(self, positions: torch.Tensor) -> torch.Tensor:
        """uint8: the output bytes there, as they are when the current stream gets here."""
        return self._outputs.view(-1)[positions]

    def broken_guard(self, slots: range) -> str:
        buffers = self._outputs[slots.start : slots.stop]
        off = [(buffers[:, start:end] != guard).any() for start, end, guard in self._guards]
        if not off or not bool(torch.stack(off).any()):
            return ""
        return next(self._broken_bytes(buffers))

    def _broken_bytes(self, buffers: torch.Tensor) -> Iterator[str]:
        for start, end, guard in self._guards:
            for slot, byte in (buffers[:, start:end] != guard).nonzero()[:1].tolist():
                yield f"byte {start + byte} of the output buffer of call {slot}"

    def changed_inputs(self, slots: range, values: Sequence[Mapping[str, ArgumentValue]]) -> str:
        """Device memory cannot be shared read-only, so the inputs are compared with what was delivered, byte
        by byte."""
        chosen = slice(slots.start, slots.stop)
        off = self._inputs[chosen] != self._staged[chosen]
        if not bool(off.any()):
            return ""
        call, byte = off.nonzero()[0].tolist()
        fields = [field for field in tensor_arguments(self.layout) if field.offset <= byte]
        return f"input {_name_at(fields, byte)} of call {call}"

    def close(self) -> None:
        torch.cuda.synchronize(self._device)
        self._inputs = self._outputs = self._staged = torch.empty(0)
        while self._owned:
            cuda_driver.free(self._owned.pop())


def _name_at(fields: Sequence[TensorField], byte: int) -> str:
    """The field that holds this byte, or the last one before it."""
    field = fields[-1]
    end = field.offset + field.nbytes
    return field.name if byte < end else f"{field.name} (behind its end)"
