"""A check of many problems that is stopped ends at once, and quietly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_START_S = 60.0


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_an_interrupt_ends_every_process_without_a_traceback() -> None:
    command = [sys.executable, "-m", "solbench", "suite", "check", "--jobs", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as checking:
        deadline = time.monotonic() + _START_S
        while len(started := _children(checking.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)  # two that check, and the one that Python keeps beside them
        time.sleep(0.5)
        os.killpg(checking.pid, signal.SIGINT)
        _, errors = checking.communicate(timeout=_START_S)
    assert len(started) == 3
    assert checking.returncode == 130
    assert errors == "interrupted: stopped by the user\n"
    assert not any(Path(f"/proc/{pid}/root").is_dir() for pid in started)
