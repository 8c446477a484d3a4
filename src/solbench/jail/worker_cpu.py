"""The worker's side of a CPU slot: inputs mapped privately from sealed memory, outputs shared."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

import torch

from solbench.jail._call import call_setup, make_call, make_slot, torch_dtype
from solbench.jail._load import Rejected
from solbench.jail._page import Page
from solbench.jail._profile import profile_cpu
from solbench.jail._slots import Slots
from solbench.jail._types import WorkerPlan
from solbench.jail.protocol import Status, TensorField
from solbench.jail.walls import map_fixed, populate


class CpuDevice(Slots):
    """Slots of all layouts. ``descriptors[layout][slot]`` are the input and output memfds."""

    def __init__(
        self, plan: WorkerPlan, descriptors: Sequence[Sequence[tuple[int, int]]], page: Page
    ) -> None:
        super().__init__(plan, page)
        self._descriptors = descriptors
        self._addresses: dict[tuple[int, int], tuple[int, int]] = {}
        torch.set_num_threads(plan.limits.threads)

    def meet(self, layout: int, first: int, count: int) -> None:
        """Map every slot, let the solution plan, and call it once on each of ``count`` slots."""
        entry = self._bound()
        planned = self._plan.layouts[layout]
        call_setup(entry, self._plan.artifact, planned, torch.device("cpu"))
        for slot in range(self._plan.layouts[layout].slots):
            self._map(layout, slot)
        self.run(layout, first, count)

    def arm(self, layout: int, first: int, count: int) -> None:
        """Give the slots fresh private pages at their old addresses, already present."""
        for slot in range(first, first + count):
            self._map(layout, slot)

    def run(self, layout: int, first: int, count: int) -> None:
        self._call(layout, first, count)

    def queue(self, layout: int, first: int, count: int) -> None:
        raise Rejected(Status.UNSUPPORTED, "a CPU has no queue")

    def synchronise(self) -> None:
        """Calls on a CPU are done when they return."""

    def profile(self, layout: int, first: int, count: int) -> None:
        """One call under the profiler; see ``Command.PROFILE``."""
        profile_cpu(lambda: self._call(layout, first, 1))  # the first time, its own start shows
        print(profile_cpu(lambda: self._call(layout, first, 1)), flush=True)

    def _map(self, index: int, slot: int) -> None:
        layout = self._plan.layouts[index]
        # Let go of the old tensors first: new ones then tend to get their identity, so that whoever
        # caches by it gets stale answers rather than misses.
        self._calls.pop((index, slot), None)
        inputs_fd, outputs_fd = self._descriptors[index][slot]
        old_inputs, old_outputs = self._addresses.get((index, slot), (0, 0))
        inputs = map_fixed(old_inputs, layout.input_bytes, inputs_fd, mmap.MAP_PRIVATE)
        outputs = map_fixed(old_outputs, layout.output_bytes, outputs_fd, mmap.MAP_SHARED)
        populate(inputs, layout.input_bytes, mmap.MAP_PRIVATE)
        populate(outputs, layout.output_bytes, mmap.MAP_SHARED)
        self._addresses[index, slot] = inputs, outputs

        def tensor(field: TensorField, in_outputs: bool) -> torch.Tensor:
            return _view((outputs if in_outputs else inputs) + field.offset, field)

        # New tensor objects each time: nothing that was hung on the old ones comes back.
        values = make_slot(layout, tensor)
        self._calls[index, slot] = make_call(self._bound(), self._plan.artifact, layout, values)


def _view(address: int, field: TensorField) -> torch.Tensor:
    """A tensor over memory that stays mapped as long as the process lives."""
    dtype = torch_dtype(field.dtype)
    if not field.nbytes:
        return torch.empty(field.shape, dtype=dtype)
    memory = (ctypes.c_char * field.nbytes).from_address(address)
    return torch.frombuffer(memory, dtype=torch.uint8).view(dtype).view(field.shape)


DEVICE = CpuDevice
"""What ``worker.device_class`` looks for."""
