"""However a worker fails, the judge gets a reply."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.jail.conftest import Spawn, layout_of

from solbench.jail import Command, Field, JailedWorker, Limits, Status

_MIB = 1 << 20


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def _await_gone(pid: int) -> bool:
    for _ in range(200):
        if _gone(pid):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os._exit(0)", "exited with code 0"),
        ("os._exit(7)", "exited with code 7"),
        ("ctypes.string_at(0)", "killed by signal 11 (SIGSEGV)"),
        ("os.abort()", "killed by signal 6 (SIGABRT)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9 (SIGKILL)"),
    ],
)
@pytest.mark.parametrize("when", ["import", "call"])
def test_a_worker_that_ends_itself_is_a_death_with_its_cause(
    spawn: Spawn, body: str, said: str, when: str
) -> None:
    source = "import ctypes, os, signal, sys\n"
    source += f"{body}\n" if when == "import" else f"def run(x):\n    {body}\n"
    jailed = spawn(source)
    reply = jailed.prepare()
    assert reply.kind == "died"
    assert said in reply.detail
    assert jailed.run() == reply
    assert not jailed.worker.walls().sealed


def test_a_killed_worker_is_a_death(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    return x\n")
    assert jailed.seal().ok
    os.kill(jailed.worker.pid, signal.SIGKILL)
    assert jailed.run().kind == "died"


def test_a_call_that_does_not_end_is_a_timeout_and_is_killed(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    while True:\n        pass\n")
    assert jailed.do(Command.LOAD).ok
    reply = jailed.do(Command.MEET, wait_s=0.3)
    assert reply.kind == "timeout"
    assert "0.3 s" in reply.detail
    assert _await_gone(jailed.worker.pid)


def test_a_call_that_sleeps_with_signals_ignored_is_a_timeout(spawn: Spawn) -> None:
    source = """
        import signal, time
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        def run(x):
            time.sleep(1000)
    """
    jailed = spawn(source)
    assert jailed.do(Command.LOAD).ok
    assert jailed.do(Command.MEET, wait_s=0.3).kind == "timeout"
    assert _await_gone(jailed.worker.pid)


def test_a_flood_of_output_keeps_only_its_tail(spawn: Spawn) -> None:
    source = """
        import os
        def run(x):
            for _ in range(1000):
                os.write(1, b"flood " * 10000)
            print("the end")
            return x
    """
    jailed = spawn(source, limits=Limits(log_bytes=1000))
    assert jailed.prepare().ok
    assert len(jailed.worker.log_tail()) <= 1000
    assert jailed.worker.log_tail().endswith("the end\n")


def test_an_endless_flood_is_a_timeout(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    while True:\n        print('flood' * 1000)\n")
    assert jailed.do(Command.LOAD).ok
    assert jailed.do(Command.MEET, wait_s=0.3).kind == "timeout"


def test_closing_every_descriptor_hurts_only_itself(spawn: Spawn) -> None:
    jailed = spawn("import os\ndef run(x):\n    os.closerange(0, 4096)\n    return x\n")
    reply = jailed.seal()
    assert reply.ok  # what is mapped stays mapped
    assert jailed.run().status == Status.INTERNAL


def test_writing_to_every_descriptor_does_not_reach_the_judge(spawn: Spawn) -> None:
    source = """
        import os
        def run(x):
            for fd in range(64):
                for attempt in (lambda: os.write(fd, b"\\xff" * 100), lambda: os.ftruncate(fd, 0)):
                    try:
                        attempt()
                    except OSError:
                        pass
            return x + 1
    """
    jailed = spawn(source)
    jailed.input("x").fill_(3)
    assert jailed.prepare().ok
    assert torch.equal(jailed.input("x"), torch.full((8,), 3.0))
    assert torch.equal(jailed.output(), torch.full((8,), 4.0))


@pytest.mark.parametrize(
    "hog",
    [
        "kept.append(torch.ones(1 << 22))",
        "kept.append(bytearray(1 << 24))",
        "memory = mmap.mmap(-1, 1 << 24); memory.write(b'x' * (1 << 24)); kept.append(memory)",
    ],
)
def test_a_worker_that_hoards_memory_is_stopped(spawn: Spawn, hog: str) -> None:
    source = f"import mmap, torch\nkept = []\ndef run(x):\n    while True:\n        {hog}\n"
    jailed = spawn(source, limits=Limits(memory_bytes=800 * _MIB))
    reply = jailed.prepare()
    assert reply.kind == "memory"
    assert "limit of 800 MiB" in reply.detail
    assert _await_gone(jailed.worker.pid)


def test_memory_of_children_counts_while_there_can_be_any(spawn: Spawn) -> None:
    source = """
        import os, time
        if os.fork() == 0:
            kept = bytearray(b"x") * (900 << 20)
            time.sleep(1000)
        time.sleep(1000)
        def run(x):
            return x
    """
    jailed = spawn(source, limits=Limits(memory_bytes=800 * _MIB))
    assert jailed.do(Command.LOAD).kind == "memory"


def test_out_of_memory_inside_is_a_status(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    raise MemoryError\n")
    assert jailed.prepare().status == Status.OUT_OF_MEMORY


def test_garbage_on_the_page_is_no_answer(spawn: Spawn) -> None:
    source = """
        import gc, time
        page = next(o for o in gc.get_objects() if type(o).__name__ == "Page")
        def run(x):
            for field in range(len(page.fields)):
                page.fields[field] = -1
            time.sleep(1000)
    """
    jailed = spawn(source)
    assert jailed.do(Command.LOAD).ok
    assert jailed.do(Command.MEET, wait_s=0.3).kind == "timeout"


def test_an_unknown_status_is_internal(spawn: Spawn) -> None:
    source = f"""
        import gc, time
        page = next(o for o in gc.get_objects() if type(o).__name__ == "Page")
        def run(x):
            page.fields[{int(Field.STATUS)}] = 12345
            page.fields[{int(Field.DONE)}] = page.fields[0]
            time.sleep(1000)
    """
    jailed = spawn(source)
    assert jailed.do(Command.LOAD).ok
    reply = jailed.do(Command.MEET)
    assert (reply.kind, reply.status) == ("done", Status.INTERNAL)
    assert "12345" in reply.detail


def test_a_worker_that_wakes_itself_does_not_stay_awake(
    spawn: Spawn, needs_layers: Callable[..., None]
) -> None:
    """Threads that send every signal to their own process, in a loop, while the judge freezes it."""
    needs_layers("seccomp")
    source = """
        import os, signal, threading
        signal.signal(signal.SIGCONT, lambda *_: None)
        counter = [0]
        def nag():
            while True:
                try:
                    os.kill(os.getpid(), signal.SIGCONT)
                except OSError:
                    pass
                counter[0] += 1
        for _ in range(3):
            threading.Thread(target=nag, daemon=True).start()
        def run(x):
            return x * 0 + counter[0]
    """
    jailed = spawn(source)
    assert jailed.seal().ok
    for _ in range(5):
        jailed.worker.freeze()
        assert jailed.worker.frozen()
        time.sleep(0.02)
        assert jailed.worker.frozen()
        jailed.worker.thaw()
    assert jailed.run().ok


def test_a_thread_left_running_is_frozen_with_the_rest(spawn: Spawn) -> None:
    source = """
        import threading, torch
        def run(x, out):
            def scribble():
                while True:
                    out.add_(1)
            threading.Thread(target=scribble, daemon=True).start()
    """
    jailed = spawn(source, in_place=True)
    assert jailed.seal().ok
    jailed.worker.freeze()
    before = jailed.output().clone()
    time.sleep(0.05)
    assert torch.equal(before, jailed.output())


def test_a_torch_that_was_tampered_with_fools_nobody_but_itself(spawn: Spawn) -> None:
    source = """
        import torch
        torch.Tensor.copy_ = lambda self, other: self
        torch.frombuffer = lambda *a, **k: None
        def run(x):
            return x + 1
    """
    jailed = spawn(source)
    reply = jailed.prepare()
    assert reply.kind == "done"
    assert not torch.equal(jailed.output(), jailed.input("x") + 1)


def test_killing_twice_and_asking_the_dead_is_harmless(spawn: Spawn) -> None:
    jailed = spawn("print('last words')\ndef run(x):\n    return x\n")
    assert jailed.prepare().ok
    worker: JailedWorker = jailed.worker
    worker.kill()
    worker.kill()
    worker.freeze()
    worker.thaw()
    assert jailed.do(Command.RUN).kind == "died"
    assert worker.log_tail() == "last words\n"
    assert not worker.walls().sealed


def test_a_large_layout_with_many_slots_is_passed_whole(spawn: Spawn) -> None:
    layout = layout_of([("x", (8,), "float32")], [("out", (8,), "float32")], slots=150)
    jailed = spawn("def run(x):\n    return x + 1\n", layout=layout)
    assert jailed.seal().ok
    jailed.input("x", 149).fill_(4)
    assert jailed.run(slot=149).ok
    assert torch.equal(jailed.output(slot=149), torch.full((8,), 5.0))


def test_files_that_fill_the_disk_count_as_memory(spawn: Spawn) -> None:
    source = """
        import os
        def run(x):
            number = 0
            while True:
                number += 1
                with open(f"{number}", "wb") as file:
                    file.write(bytes(64 << 20))
    """
    jailed = spawn(source, limits=Limits(memory_bytes=800 * _MIB))
    reply = jailed.prepare()
    assert reply.kind == "memory"
    assert "scratch" in reply.detail


def test_memory_is_looked_at_between_short_calls_too(spawn: Spawn) -> None:
    source = (
        "import torch\nkept = []\ndef run(x):\n    kept.append(torch.ones(1 << 21))\n    return x\n"
    )
    jailed = spawn(source, limits=Limits(memory_bytes=600 * _MIB))
    assert jailed.seal().ok
    replies = (jailed.run() for _ in range(200))
    assert next(reply for reply in replies if not reply.ok).kind == "memory"


def test_the_kernel_would_take_the_worker_first(spawn: Spawn) -> None:
    jailed = spawn("def run(x):\n    return x\n")
    assert jailed.prepare().ok
    assert Path(f"/proc/{jailed.worker.pid}/oom_score_adj").read_text().strip() == "1000"
