"""A process whose main thread has ended lives on in its other threads."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from solbench.jail import _processes

HEADLESS = """
import ctypes, platform, threading, time
kept = bytearray(b"x") * (64 << 20)
threading.Thread(target=time.sleep, args=(60,)).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
"""


@pytest.fixture
def headless() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", HEADLESS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while ") Z " not in Path(f"/proc/{process.pid}/stat").read_text():
            time.sleep(0.001)
        yield process.pid
        process.kill()


def test_it_is_found_among_children_and_descendants(headless: int) -> None:
    assert headless in _processes.children(os.getpid())
    assert headless in _processes.descendants(os.getpid(), "")


def test_its_memory_is_seen(headless: int) -> None:
    assert _processes.resident_bytes(headless) >= 64 << 20
    assert 0 < _processes.page_table_bytes(headless) < 16 << 20


def test_it_is_ended(headless: int) -> None:
    def left() -> set[int]:
        return _processes.children(os.getpid()) & {headless}

    assert _processes.end_all(left)
    assert left() == set()
