"""An NVIDIA GPU as a device: arenas shared by IPC, and the drain clock.

A run is enqueued by the worker behind a wait in its stream, while no input exists yet. Then the judge
makes the inputs, poisons the outputs, flushes, and writes the word that the stream waits for; its clock
runs from that store to the moment the worker's synchronisation is seen to be over. The word lies in host
memory: a store by the host jitters half as much as a write through a stream of the judge's own, which
shares the device in time slices (p5 to p95 of a run on an H200: 13 against 27 us). The host's launch cost
is gone, and nothing could be computed early. The fixed cost of release and synchronisation cancels in the
slope between runs of two lengths (see ``_sampling``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from solbench.errors import DeviceError, MissingExtra
from solbench.hardware import detect_hardware
from solbench.jail import DeviceMemory, Reply, SlotBuffers, Worker, cuda_driver
from solbench.jail.protocol import Command, Layout, TensorField
from solbench.judge._device import Arena, Passage, Poison, Run
from solbench.judge._layouts import (
    ArgumentValue,
    bytes_of,
    guard_ranges,
    tensor_arguments,
    tensor_view,
)
from solbench.judge._monitor_nvml import NvmlMonitor
from solbench.judge._sampling import Slope

_SETTLE_S = 1.5e-3
"""Between asking the worker to synchronise and the release: it is then surely waiting."""
_QUEUE_TIMEOUT_S = 3.0
"""Enqueueing takes milliseconds; a call that synchronises would wait for ever for its release."""


class CudaArena:
    """All slots of a layout: an allocation for inputs and one for outputs."""

    def __init__(self, layout: Layout, device: torch.device, sharing: CudaArena | None) -> None:
        self.layout = layout
        self.inputs_address: int
        self._owned: list[int] = []
        self._device = device
        self._sharing = sharing
        self.inputs_address = (
            self._allocate(layout.input_bytes * layout.slots)
            if sharing is None
            else sharing.inputs_address
        )
        self.outputs_address = self._allocate(layout.output_bytes * layout.slots)
        self._inputs = self._slots(self.inputs_address, layout.input_bytes)
        self._outputs = self._slots(self.outputs_address, layout.output_bytes)
        self._guards = [
            (start, end, torch.randint(0, 256, (end - start,), dtype=torch.uint8, device=device))
            for start, end in guard_ranges(layout)
        ]

    def _allocate(self, nbytes: int) -> int:
        block = cuda_driver.IPC_BLOCK_BYTES
        try:
            address = cuda_driver.allocate(-(-nbytes // block) * block)
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
        """Handles of the two allocations."""
        return DeviceMemory(
            inputs=cuda_driver.export_handle(self.inputs_address).hex(),
            outputs=cuda_driver.export_handle(self.outputs_address).hex(),
        )

    def fill(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> None:
        if self._sharing is not None:
            return
        for field in tensor_arguments(self.layout):
            value = inputs[field.name]
            assert isinstance(value, torch.Tensor)
            tensor_view(self._inputs[slot], field).copy_(value)

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

    def broken_guard(self, slots: range) -> str:
        buffers = self._outputs[slots.start : slots.stop]
        off = [(buffers[:, start:end] != guard).any() for start, end, guard in self._guards]
        if not bool(torch.stack(off).any()):
            return ""
        return next(self._broken_bytes(buffers))

    def _broken_bytes(self, buffers: torch.Tensor) -> Iterator[str]:
        for start, end, guard in self._guards:
            for slot, byte in (buffers[:, start:end] != guard).nonzero()[:1].tolist():
                yield f"byte {start + byte} of the output buffer of call {slot}"

    def changed_inputs(self, slots: range, values: Sequence[Mapping[str, ArgumentValue]]) -> str:
        """Device memory cannot be shared read-only, so the inputs are compared byte by byte."""
        fields = list(tensor_arguments(self.layout))
        off = [
            (self._input_bytes(slot, field) != bytes_of(inputs[field.name])).any()
            for slot, inputs in zip(slots, values, strict=True)
            for field in fields
        ]
        if not off or not bool(torch.stack(off).any()):
            return ""
        first = int(torch.stack(off).to(torch.uint8).argmax())
        return f"input {fields[first % len(fields)].name} of call {first // len(fields)}"

    def _input_bytes(self, slot: int, field: TensorField) -> torch.Tensor:
        return self._inputs[slot, field.offset : field.offset + field.nbytes]

    def close(self) -> None:
        torch.cuda.synchronize(self._device)
        self._inputs = self._outputs = torch.empty(0)
        while self._owned:
            cuda_driver.free(self._owned.pop())


class CudaDevice:
    """One NVIDIA GPU."""

    clock = "drain"
    verified = True
    sampling = Slope()
    buffer_multiple = cuda_driver.IPC_BLOCK_BYTES
    max_slots = 128
    slot_budget_bytes = 2 << 30
    worker_base_bytes = 16 << 30  # CUDA maps its libraries and modules into the process

    def __init__(self, name: str) -> None:
        self.name = name
        self._device = _device_of(name)
        self.oracle_device = name
        torch.cuda.set_device(self._device)
        properties = torch.cuda.get_device_properties(self._device)
        self._title = properties.name
        l2_bytes = properties.L2_cache_size
        self._dirty = torch.empty(2 * l2_bytes, dtype=torch.uint8, device=self._device)
        self._clean = torch.ones(l2_bytes // 4, dtype=torch.float32, device=self._device)
        self._sum = torch.empty((), dtype=torch.float32, device=self._device)
        self._monitor = _monitor(properties)
        self._synchronising: set[int] = set()
        self._queued: dict[int, int] = {}
        """Worker → sequence number of the run that waits for its release."""

    def title(self) -> str:
        return self._title

    def hardware(self) -> str:
        found = detect_hardware(self.name)
        if found is None:
            raise DeviceError(
                f"no hardware file fits '{self._title}'. Name one with --hardware (see: solbench hardware list)"
            )
        return found

    def libraries(self) -> dict[str, str]:
        return {"torch": torch.__version__, "cuda": str(torch.version.cuda)}

    def arena(self, layout: Layout, sharing: Arena | None = None) -> CudaArena:
        assert sharing is None or isinstance(sharing, CudaArena)
        return CudaArena(layout, self._device, sharing)

    def settle(self, worker: Worker) -> None:
        """A new worker is trusted to queue until it is seen not to."""
        self._synchronising.discard(worker.pid)

    def hold(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Reply:
        assert isinstance(arena, CudaArena)
        if worker.pid in self._synchronising:
            return Reply("done")
        sequence = self._command(worker, Command.QUEUE, run)
        self._queued[worker.pid] = sequence
        if not worker.answers(sequence, min(timeout_s, _QUEUE_TIMEOUT_S)):
            # It cannot be queued: let it go, and time this worker's runs singly from now on.
            self._synchronising.add(worker.pid)
            worker.release(sequence)
        return worker.wait(sequence, timeout_s)

    def flush(self) -> None:
        """Write twice the L2, then read once its size from a clean buffer; persisting lines are reset."""
        cuda_driver.reset_persisting_l2()
        self._dirty.zero_()
        torch.amax(self._clean, 0, out=self._sum)
        torch.cuda.synchronize(self._device)

    def release(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Passage:
        assert isinstance(arena, CudaArena)
        if worker.pid in self._synchronising:
            return self._release_singly(worker, run, timeout_s)
        sequence = worker.command(Command.SYNCHRONISE, layout=run.layout)
        time.sleep(_SETTLE_S)
        queued = self._queued[worker.pid]
        start_ns = time.perf_counter_ns()
        worker.release(queued)
        reply = worker.wait(sequence, timeout_s)
        return Passage(reply, (reply.seen_ns - start_ns) / 1e6, lost_share=self._slowed_down())

    def _slowed_down(self) -> float:
        """1 while the card is slowed down by heat or by its board: the sample is then dropped."""
        return float(self._monitor is not None and not self._monitor.read().usable)

    def _release_singly(self, worker: Worker, run: Run, timeout_s: float) -> Passage:
        start_ns = time.perf_counter_ns()
        reply = worker.wait(self._command(worker, Command.RUN, run), timeout_s)
        return Passage(reply, (reply.seen_ns - start_ns) / 1e6)

    def ran_while_held(self, worker: Worker) -> str:
        """Always empty: the host side need not stop, what counts is that the stream waits."""
        return ""

    def readings(self) -> dict[str, float]:
        if self._monitor is None:
            return {}
        reading = self._monitor.read()
        return {
            "sm_clock_mhz": float(reading.sm_clock_mhz),
            "memory_clock_mhz": float(reading.memory_clock_mhz),
            "temperature_c": float(reading.temperature_c),
            "power_w": reading.power_w,
            "slowdown": float(not reading.usable),
            "power_capped": float(reading.power_capped),
        }

    def notes(self, worker: Worker) -> dict[str, str]:
        if worker.pid not in self._synchronising:
            return {}
        return {
            "synchronises": "a call waits for the device, so calls cannot be queued behind the judge's "
            "release; they were started by the host, and its launches are in the time"
        }

    def close(self) -> None:
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None

    def _command(self, worker: Worker, command: Command, run: Run) -> int:
        return worker.command(command, layout=run.layout, first=run.first, count=run.count)


def _device_of(name: str) -> torch.device:
    if not torch.cuda.is_available():
        raise DeviceError(f"{name}: this torch ({torch.__version__}) sees no GPU. Use --device cpu")
    device = torch.device(name if ":" in name else f"{name}:0")
    count = torch.cuda.device_count()
    if device.index >= count:
        raise DeviceError(f"{name}: there are only {count} GPUs (cuda:0 to cuda:{count - 1})")
    return device


def _monitor(properties: Any) -> NvmlMonitor | None:
    """None where NVML is not installed; the trace then has no clocks."""
    bus_id = f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
    try:
        return NvmlMonitor(bus_id)
    except (MissingExtra, DeviceError):
        return None
