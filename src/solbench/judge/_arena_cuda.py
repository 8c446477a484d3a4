"""Buffers on an NVIDIA GPU that judge and worker share by IPC, and what the judge looks at in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import torch

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


class CudaMemory:
    """Blocks that the layouts of a worker use in turn, each as large as the largest of them needs: inputs and
    outputs, which workers see, and the judge's own copy of the inputs.

    Layouts are added while no worker has opened the blocks; :meth:`let_go` for each of them in the end.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.users = 0
        self._blocks: dict[str, int] = {}
        """Role → address."""
        self._sizes: dict[str, int] = {}
        self._handles: DeviceMemory | None = None
        """Set while a worker may have them open."""
        self._staged = torch.empty(0, dtype=torch.uint8, device=device)

    @property
    def nbytes(self) -> int:
        """Of all blocks together."""
        return sum(self._sizes.values()) + self._staged.numel()

    def add(self, layout: Layout) -> None:
        """Make room for one more layout. Raises ``MemoryError`` where there is none; what there was stays."""
        assert self._handles is None, "a worker has these blocks open"
        self._grow("inputs", layout.input_bytes * layout.slots)
        self._grow("outputs", layout.output_bytes * layout.slots)
        if (staged := _used_bytes(layout) * layout.slots) > self._staged.numel():
            self._staged = torch.empty(0, dtype=torch.uint8, device=self.device)
            self._staged = torch.zeros(staged, dtype=torch.uint8, device=self.device)
        self.users += 1

    def _grow(self, role: str, nbytes: int) -> None:
        block = cuda_driver.IPC_BLOCK_BYTES
        wanted, held = max(1, -(-nbytes // block)) * block, self._sizes.get(role, 0)
        if wanted <= held:
            return
        if held:
            self._free(self._blocks.pop(role))
        try:
            self._blocks[role] = self._allocate(wanted)
        except cuda_driver.CudaDriverError as error:
            if held:
                self._blocks[role] = self._allocate(held)
            raise MemoryError(
                f"{self.device}: no {wanted / 1e9:.2f} GB for buffers: {error}"
            ) from error
        self._sizes[role] = wanted

    def _allocate(self, nbytes: int) -> int:
        return cuda_driver.allocate(nbytes)

    def _free(self, address: int) -> None:
        cuda_driver.free(address)

    def view(self, role: str, slots: int, slot_bytes: int) -> torch.Tensor:
        """uint8 [slots, slot_bytes] at the beginning of a block."""
        span = cuda_driver.DeviceBytes(self._blocks[role], slots * slot_bytes)
        return torch.as_tensor(span, device=self.device).view(slots, slot_bytes)

    def staged(self, slots: int, slot_bytes: int) -> torch.Tensor:
        """uint8 [slots, slot_bytes] that no worker sees."""
        return self._staged[: slots * slot_bytes].view(slots, slot_bytes)

    def handles(self) -> DeviceMemory:
        """What a worker opens. From now on the blocks stay where they are."""
        if self._handles is None:
            self._handles = DeviceMemory(
                inputs=cuda_driver.export_handle(self._blocks["inputs"]).hex(),
                outputs=cuda_driver.export_handle(self._blocks["outputs"]).hex(),
            )
        return self._handles

    def let_go(self) -> None:
        """One layout is done with; after the last one the blocks may grow again."""
        self.users -= 1
        if not self.users:
            self._handles = None

    def close(self) -> None:
        """Give the blocks back."""
        self._staged = torch.empty(0, dtype=torch.uint8)
        while self._blocks:
            self._free(self._blocks.popitem()[1])
        self._sizes.clear()


class CudaArena:
    """All slots of a layout, in memory that it may share with layouts that are not used at the same time.

    Inputs are first *staged* in memory of the judge's own; :meth:`deliver` brings all of them to the worker in
    one copy, so that they exist there for as short a time as possible before the run.
    """

    def __init__(
        self,
        layout: Layout,
        memory: CudaMemory,
        let_go: Callable[[CudaMemory], None] = CudaMemory.close,
    ) -> None:
        """``let_go`` is told when no arena uses the memory any more."""
        try:
            memory.add(layout)
        except (MemoryError, RuntimeError):  # the latter from torch
            if not memory.users:
                let_go(memory)
            raise
        self.layout = layout
        self.memory = memory
        self._let_go = let_go
        self._closed = False
        self._device = device = memory.device
        self._guards = [
            (start, end, torch.randint(0, 256, (end - start,), dtype=torch.uint8, device=device))
            for start, end in guard_ranges(layout)
        ]
        self._generator = torch.Generator(device).manual_seed(int.from_bytes(os.urandom(7)))

    # The memory may move until a worker opens it, so views are made when they are first used after that.
    @cached_property
    def _inputs(self) -> torch.Tensor:
        slots = self.memory.view("inputs", self.layout.slots, self.layout.input_bytes)
        return slots[:, : _used_bytes(self.layout)]

    @cached_property
    def _outputs(self) -> torch.Tensor:
        return self.memory.view("outputs", self.layout.slots, self.layout.output_bytes)

    @cached_property
    def _staged(self) -> torch.Tensor:
        return self.memory.staged(self.layout.slots, _used_bytes(self.layout))

    def buffers(self) -> Sequence[SlotBuffers]:
        """None: device memory travels as handles."""
        return ()

    def device_memory(self) -> DeviceMemory:
        """Handles of the two allocations: a worker may be born now."""
        return self.memory.handles()

    def show(self, inputs: Mapping[str, ArgumentValue]) -> None:
        for slot in range(self.layout.slots):
            self.fill(slot, inputs)
        self.deliver(range(self.layout.slots))
        self.poison(range(self.layout.slots), "zeros")
        self._finish_own_work()

    def _finish_own_work(self) -> None:
        """The worker is told of its buffers by the host, which must not be ahead of the device."""
        torch.cuda.synchronize(self._device)

    def fill(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> None:
        """Stage the tensors of a call."""
        for field in tensor_arguments(self.layout):
            value = inputs[field.name]
            assert isinstance(value, torch.Tensor)
            tensor_view(self._staged[slot], field).copy_(value)

    def kept(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> dict[str, ArgumentValue]:
        """Views of what is staged, so that the inputs are not held twice."""
        views = {
            field.name: tensor_view(self._staged[slot], field)
            for field in tensor_arguments(self.layout)
        }
        return {**inputs, **views}

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
        if self._closed:
            return
        self._closed = True
        self._finish_own_work()
        for view in ("_inputs", "_outputs", "_staged"):
            self.__dict__.pop(view, None)
        self.memory.let_go()
        if not self.memory.users:
            self._let_go(self.memory)


def _used_bytes(layout: Layout) -> int:
    """Of a slot's input buffer, its end rounded up apart."""
    return max((field.offset + field.nbytes for field in tensor_arguments(layout)), default=0)


def _name_at(fields: Sequence[TensorField], byte: int) -> str:
    """The field that holds this byte, or the last one before it."""
    field = fields[-1]
    end = field.offset + field.nbytes
    return field.name if byte < end else f"{field.name} (behind its end)"
