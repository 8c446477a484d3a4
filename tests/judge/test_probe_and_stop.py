"""What the CPU's clock does about outputs and threads that come late."""

import mmap

import pytest
import torch

from solbench.judge._arena_cpu import _random_positions
from solbench.judge._device_cpu import _elapsed
from solbench.judge._layouts import plan_layout


def test_a_tiny_output_beside_a_large_one_is_always_probed():
    layout = plan_layout(
        {"x": torch.zeros(1)},
        {"large": torch.zeros(1 << 20), "tiny": torch.zeros(1)},
        buffer_multiple=mmap.PAGESIZE,
        max_slots=2,
        slot_budget_bytes=1 << 30,
    )
    tiny = layout.outputs[1]
    for _ in range(20):
        positions = _random_positions(layout, 64)
        # Half of 64 on average; none at all has a chance of 2 ** -64.
        assert sum(tiny.offset <= each < tiny.offset + 4 for each in positions) > 0


def test_only_outputs_are_probed():
    layout = plan_layout(
        {"x": torch.zeros(1)},
        {"a": torch.zeros(3), "nothing": torch.zeros(0), "b": torch.zeros(5)},
        buffer_multiple=mmap.PAGESIZE,
        max_slots=2,
        slot_budget_bytes=1 << 20,
    )
    covered = {
        byte
        for field in layout.outputs
        for byte in range(field.offset, field.offset + field.nbytes)
    }
    assert set(_random_positions(layout, 2000).tolist()) == covered


def test_a_slow_stop_counts_as_time_of_the_call():
    assert _elapsed(0, 5_000_000, 5_100_000) == (5_000_000, 0.0)
    elapsed_ns, lost_share = _elapsed(0, 5_000_000, 20_000_000)
    assert elapsed_ns == 20_000_000
    assert lost_share == pytest.approx(0.75)
