"""Memory that a process holds without having it mapped is found."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator

import pytest

from solbench.jail import _unmapped
from solbench.jail._unmapped import Unmapped

MIB = 1 << 20


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Shared memory of the machine, as its one entry says."""
    said = [100 * MIB]
    monkeypatch.setattr(_unmapped, "_shared_memory_bytes", lambda: said[0])
    return said


@pytest.fixture
def mapping() -> Iterator[mmap.mmap]:
    with mmap.mmap(-1, 8 * MIB, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) as mapped:
        yield mapped


@pytest.mark.usefixtures("mapping")
def test_a_shared_mapping_counts_once_the_machine_has_lost_much(shared: list[int]) -> None:
    unmapped = Unmapped()
    assert unmapped.bytes([os.getpid()], 2 * MIB) == 0  # the machine is as it was
    shared[0] += 4 * MIB
    assert unmapped.bytes([os.getpid()], 2 * MIB) == 4 * MIB  # no more than it has lost


def test_a_file_in_memory_counts_by_its_pages(shared: list[int]) -> None:
    unmapped = Unmapped()
    held = os.memfd_create("held")
    try:
        os.ftruncate(held, 50 * MIB)
        os.pwrite(held, bytes(3 * MIB), 0)
        shared[0] += 40 * MIB
        assert 3 * MIB <= unmapped.bytes([os.getpid()], 2 * MIB) < 20 * MIB
    finally:
        os.close(held)


def test_what_others_take_is_not_held_against_it(shared: list[int]) -> None:
    unmapped = Unmapped()
    shared[0] += 900 * MIB
    assert unmapped.bytes([os.getpid()], 800 * MIB) < 800 * MIB
    shared[0] += 700 * MIB
    assert unmapped.bytes([os.getpid()], 800 * MIB) == 0  # what others had taken is known by now


def test_private_memory_is_not_counted(shared: list[int]) -> None:
    before = _unmapped._mapped(os.getpid())
    with mmap.mmap(-1, 8 * MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS):
        assert _unmapped._mapped(os.getpid()) == before
    with mmap.mmap(-1, 8 * MIB, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS):
        assert _unmapped._mapped(os.getpid()) == before + 8 * MIB


def test_a_process_that_is_gone_holds_nothing(shared: list[int]) -> None:
    unmapped = Unmapped()
    shared[0] += 900 * MIB
    assert unmapped.bytes([1 << 22], MIB) == 0


def test_the_machine_tells_its_shared_memory() -> None:
    before = _unmapped._shared_memory_bytes()
    assert before > 0
