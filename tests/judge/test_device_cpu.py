import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from solbench.judge._arena_cpu import CpuArena
from solbench.judge._device import Run, open_device
from solbench.judge._device_cpu import CpuDevice, _has_run, _Ran, last_level_cache_bytes
from solbench.judge._layouts import plan_layout

X = torch.arange(6.0).reshape(2, 3)


@pytest.fixture
def arena():
    layout = plan_layout(
        {"x": X, "n": 3},
        {"y": X, "z": X[0]},
        buffer_multiple=mmap.PAGESIZE,
        max_slots=2,
        slot_budget_bytes=1 << 20,
    )
    arena = CpuArena(layout)
    yield arena
    arena.close()


def test_the_worker_sees_what_the_judge_fills_in(arena):
    arena.fill(1, {"x": X, "n": 3})
    seen = os.pread(arena.buffers()[1].inputs_fd, 24, 0)
    assert torch.frombuffer(bytearray(seen), dtype=torch.float32).tolist() == X.flatten().tolist()


def test_inputs_cannot_be_written_through_the_descriptor(arena):
    fd = arena.buffers()[0].inputs_fd
    with pytest.raises(PermissionError):
        os.pwrite(fd, b"forged", 0)
    with pytest.raises(PermissionError):
        mmap.mmap(fd, mmap.PAGESIZE, mmap.MAP_SHARED)
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 0)


def test_a_private_copy_leaves_the_judges_bytes_alone(arena):
    arena.fill(0, {"x": X, "n": 3})
    with mmap.mmap(arena.buffers()[0].inputs_fd, mmap.PAGESIZE, mmap.MAP_PRIVATE) as private:
        private[:4] = b"\xff\xff\xff\xff"
        assert os.pread(arena.buffers()[0].inputs_fd, 4, 0) == b"\0\0\0\0"


def test_outputs_are_shared_and_cannot_be_resized(arena):
    slot = arena.buffers()[0]
    os.pwrite(slot.outputs_fd, torch.ones(1).numpy().tobytes(), arena.layout.outputs[0].offset)
    assert arena.outputs(0)["y"][0, 0] == 1.0
    with pytest.raises(PermissionError):
        os.ftruncate(slot.outputs_fd, 0)


def test_poison_overwrites_outputs(arena):
    arena.outputs(0)["y"].fill_(7.0)
    arena.poison(range(1), "zeros")
    assert not arena.outputs(0)["y"].any()
    arena.poison(range(1), "random")
    first = arena.outputs(0)["y"].view(torch.uint8).clone()
    arena.poison(range(1), "random")
    assert not torch.equal(arena.outputs(0)["y"].view(torch.uint8), first)


@pytest.mark.parametrize("offset", [-1, 24])
def test_a_write_beside_an_output_is_seen(arena, offset):
    arena.poison(range(1), "zeros")
    arena.outputs(0)["y"].fill_(1.0)
    assert arena.broken_guard(range(1)) == ""
    place = arena.layout.outputs[0].offset + offset
    fd = arena.buffers()[0].outputs_fd
    (old,) = os.pread(fd, 1, place)
    os.pwrite(fd, bytes([old ^ 1]), place)
    assert str(place) in arena.broken_guard(range(1))
    arena.poison(range(1), "zeros")
    assert arena.broken_guard(range(1)) == ""


def test_sharing_gives_the_same_inputs_and_other_outputs(arena):
    other = CpuArena(arena.layout, sharing=arena)
    assert other.buffers()[0].inputs_fd == arena.buffers()[0].inputs_fd
    assert other.buffers()[0].outputs_fd != arena.buffers()[0].outputs_fd
    other.close()
    arena.fill(0, {"x": X, "n": 3})


def test_the_probe_sees_changes_of_outputs_only(arena):
    run = Run(0, 0, 2)
    probe = arena.probe(run)
    arena.poison(range(1), "zeros")
    before = probe.read()
    arena.poison(range(1, 2), "zeros")
    assert all((a == b).all() for a, b in zip(before, probe.read(), strict=True))
    arena.outputs(0)["y"].fill_(float("nan"))
    arena.outputs(0)["z"].fill_(float("nan"))
    assert (before[0] != probe.read()[0]).any()


def test_outputs_without_elements_have_nothing_to_probe():
    empty = torch.empty(0)
    layout = plan_layout(
        {"x": empty},
        {"y": empty},
        buffer_multiple=mmap.PAGESIZE,
        max_slots=2,
        slot_budget_bytes=1 << 20,
    )
    arena = CpuArena(layout)
    assert all(len(each) == 0 for each in arena.probe(Run(0, 0, 1)).read())
    arena.close()


def test_closing_gives_the_descriptors_back(arena):
    fds = [fd for slot in arena.buffers() for fd in (slot.inputs_fd, slot.outputs_fd)]
    arena.close()
    for fd in fds:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def test_the_flush_is_larger_than_the_cache():
    device = CpuDevice()
    assert device._dirty.nbytes == 2 * min(last_level_cache_bytes(), 128 << 20)
    before = device._dirty[0]
    device.flush()
    assert device._dirty[0] != before


def test_unknown_devices_are_refused():
    from solbench.errors import InputError

    with pytest.raises(InputError, match="tpu"):
        open_device("tpu")


SLEEPER = "import time\nwhile True: time.sleep(0.0002)\n"


class Child:
    """An unjailed process that can be stopped."""

    def __init__(self, source: str) -> None:
        ready = "\nprint('ready', flush=True)\n"
        self.process = subprocess.Popen(
            [sys.executable, "-c", source.replace("while", ready + "while")],
            stdout=subprocess.PIPE,
        )
        self.pid = self.process.pid
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        deadline = time.monotonic() + 5
        while "\nState:\tT" not in Path(f"/proc/{self.pid}/status").read_text():
            if time.monotonic() > deadline:
                return

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("woken", [False, True])
def test_a_process_that_ran_meanwhile_is_seen_though_it_is_stopped_again(woken):
    child, device = Child(SLEEPER), CpuDevice()
    try:
        device.settle(child)
        if woken:
            os.kill(child.pid, signal.SIGCONT)
        time.sleep(0.02)
        child.freeze()
        assert bool(device.ran_while_held(child)) is woken
    finally:
        child.close()


_STILL = {7: _Ran(10, False, 1_000_000), 8: _Ran(3, False, 500_000)}


@pytest.mark.parametrize(
    ("now", "has_run"),
    [
        (_STILL, False),
        # One more switch and 2 us: it stood in line for its last steps.
        (_STILL | {7: _Ran(11, False, 1_002_000)}, False),
        # 30 us each make 60.
        ({7: _Ran(11, False, 1_030_000), 8: _Ran(4, False, 530_000)}, True),
        (_STILL | {7: _Ran(10, True, 1_000_000)}, True),
        (_STILL | {9: _Ran(1, False, 100)}, True),
        ({7: _STILL[7]}, True),
    ],
    ids=["nothing", "last steps", "work", "runs now", "a new thread", "a thread is gone"],
)
def test_last_steps_of_a_stop_are_no_work(now, has_run):
    assert _has_run(_STILL, now) is has_run


def test_without_an_account_of_time_every_switch_counts():
    before = {7: _Ran(10, False, 0)}
    assert _has_run(before, {7: _Ran(11, False, 0)})
    assert not _has_run(before, before)
