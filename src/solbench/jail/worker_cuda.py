"""The worker's side of CUDA slots: device memory of the judge's, opened by IPC handle.

Calls run on torch's current stream. A queued run waits in that stream for a word of the page, which the device
reads itself, so everything is enqueued before any input exists.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from solbench.jail import cuda_driver
from solbench.jail._c_call import Call
from solbench.jail._call import call_setup, make_call, make_slot, torch_dtype
from solbench.jail._load import Entry
from solbench.jail._page import Page
from solbench.jail._profile import busy_us, kernel_table, profile_gpu
from solbench.jail._slots import Slots
from solbench.jail._types import DeviceMemory, WorkerPlan
from solbench.jail.protocol import PAGE_BYTES, Field, TensorField


class CudaDevice(Slots):
    """Slots of all layouts, each layout in one allocation per role."""

    def __init__(
        self, plan: WorkerPlan, descriptors: Sequence[Sequence[tuple[int, int]]], page: Page
    ) -> None:
        super().__init__(plan, page)
        self._device = torch.device(plan.device)
        torch.set_num_threads(plan.limits.threads)
        torch.cuda.set_device(self._device)
        # Creates the context, so that the driver calls below find it current.
        torch.zeros(1, device=self._device)
        # Layouts may lie in the same memory, and a handle is opened once in a process.
        opened = {memory: _Opened(memory) for memory in dict.fromkeys(plan.device_memory)}
        self._memory = [opened[memory] for memory in plan.device_memory]
        pinned = cuda_driver.register_host(page.address, PAGE_BYTES)
        self._release_address = pinned + 8 * Field.RELEASE
        self._finished_address = pinned + 8 * Field.FINISHED

    def meet(self, layout: int, first: int, count: int) -> None:
        """View every slot, let the solution plan, and call it once on each of ``count`` slots."""
        entry = self._bound()
        planned = self._plan.layouts[layout]
        call_setup(entry, self._plan.artifact, planned, self._device, self._stream)
        for slot in range(self._plan.layouts[layout].slots):
            self._calls[layout, slot] = self._make_call(entry, layout, slot)
        self.run(layout, first, count)

    def arm(self, layout: int, first: int, count: int) -> None:
        """Device memory is shared and needs no fresh mapping."""

    def run(self, layout: int, first: int, count: int) -> None:
        self._call(layout, first, count)
        torch.cuda.synchronize(self._device)

    def queue(self, layout: int, first: int, count: int) -> None:
        """Enqueue the calls behind a wait for the judge's release; returns at once."""
        sequence = self._page.fields[Field.SEQUENCE]
        cuda_driver.stream_wait_value(self._stream(), self._release_address, sequence)
        self._call(layout, first, count)
        cuda_driver.stream_write_value(self._stream(), self._finished_address, sequence)

    def synchronise(self) -> None:
        """Until everything on the device is done, side streams too."""
        torch.cuda.synchronize(self._device)

    def profile(self, layout: int, first: int, count: int) -> None:
        """One call under the profiler; see ``Command.PROFILE``."""
        kernels = profile_gpu(lambda: self._call(layout, first, 1), self._device)
        self._page.claim(0, round(1e3 * busy_us(kernels)))
        self._page.claim(1, len(kernels))
        print(kernel_table(kernels), flush=True)

    def _make_call(self, entry: Entry, index: int, slot: int) -> Call:
        layout, memory = self._plan.layouts[index], self._memory[index]
        inputs = self._slot_bytes(memory.inputs, layout.input_bytes, slot)
        outputs = self._slot_bytes(memory.outputs, layout.output_bytes, slot)

        def tensor(field: TensorField, in_outputs: bool) -> torch.Tensor:
            return _view(outputs if in_outputs else inputs, field)

        return make_call(
            entry, self._plan.artifact, layout, make_slot(layout, tensor), self._stream
        )

    def _slot_bytes(self, address: int, slot_bytes: int, slot: int) -> torch.Tensor:
        span = cuda_driver.DeviceBytes(address + slot * slot_bytes, slot_bytes)
        return torch.as_tensor(span, device=self._device)

    def _stream(self) -> int:
        return torch.cuda.current_stream(self._device).cuda_stream


class _Opened:
    """Addresses, in this process, of one layout's memory."""

    def __init__(self, memory: DeviceMemory) -> None:
        self.inputs, self.outputs = (
            cuda_driver.open_handle(bytes.fromhex(handle))
            for handle in (memory.inputs, memory.outputs)
        )


def _view(buffer: torch.Tensor, field: TensorField) -> torch.Tensor:
    flat = buffer[field.offset : field.offset + field.nbytes]
    return flat.view(torch_dtype(field.dtype)).view(field.shape)


DEVICE = CudaDevice
