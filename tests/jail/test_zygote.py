"""The process that forks workers: warm, secret-free, and never a source of orphans."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.jail.conftest import DEFAULT_LAYOUT, Memory

from solbench.errors import JailError
from solbench.jail import (
    Artifact,
    Command,
    JailedWorker,
    SlotBuffers,
    WorkerPlan,
    ZygoteClient,
    start_zygote,
)


@pytest.fixture(scope="module")
def own_zygote() -> Iterator[ZygoteClient]:
    with start_zygote() as client:
        yield client


@pytest.fixture
def plan(tmp_path: Path) -> WorkerPlan:
    (tmp_path / "kernel.py").write_text("def run(x):\n    return x\n")
    artifact = Artifact(str(tmp_path), "kernel.py", "run", "python", False, "test")
    return WorkerPlan(artifact, (), "cpu")


def _load(worker: JailedWorker) -> bool:
    return worker.wait(worker.command(Command.LOAD), 20).ok


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _await_end(*pids: int) -> bool:
    for _ in range(500):
        if not any(map(_alive, pids)):
            return True
        time.sleep(0.02)
    return False


def _children(pid: int) -> int:
    return sum(
        len(path.read_text().split()) for path in Path(f"/proc/{pid}/task").glob("*/children")
    )


def test_fifty_workers_leave_no_process_descriptor_or_folder(
    own_zygote: ZygoteClient, plan: WorkerPlan
) -> None:
    own_zygote.spawn(plan).kill()
    time.sleep(0.3)
    here, there = (Path(f"/proc/{pid}/fd") for pid in (os.getpid(), own_zygote.pid))
    before = len(list(here.iterdir())), len(list(there.iterdir()))
    for _ in range(50):
        worker = own_zygote.spawn(plan)
        assert _load(worker)
        worker.kill()
    for _ in range(200):
        after = len(list(here.iterdir())), len(list(there.iterdir()))
        if not _children(own_zygote.pid) and after == before:
            break
        time.sleep(0.02)
    assert _children(own_zygote.pid) == 0
    assert after == before
    base = Path(f"/proc/{own_zygote.pid}/fd/1").readlink().parent
    assert [path.name for path in base.iterdir()] == ["zygote.log"]


def test_several_workers_live_at_once(own_zygote: ZygoteClient, plan: WorkerPlan) -> None:
    workers = [own_zygote.spawn(plan) for _ in range(3)]
    assert all(_load(worker) for worker in workers)
    workers[1].kill()
    assert workers[0].wait(workers[0].command(Command.SEAL), 20).ok
    assert workers[2].wait(workers[2].command(Command.SEAL), 20).ok
    for worker in workers:
        worker.kill()


def test_exits_are_told_apart(own_zygote: ZygoteClient, tmp_path: Path) -> None:
    workers = []
    for code in (3, 5):
        (tmp_path / f"exit{code}.py").write_text(f"import os\nos._exit({code})\n")
        artifact = Artifact(str(tmp_path), f"exit{code}.py", "run", "python", False, "test")
        workers.append(own_zygote.spawn(WorkerPlan(artifact, (), "cpu")))
    first, second = (worker.command(Command.LOAD) for worker in workers)
    assert "code 5" in workers[1].wait(second, 20).detail
    assert "code 3" in workers[0].wait(first, 20).detail


def test_a_killed_zygote_takes_its_workers_and_is_replaced(plan: WorkerPlan) -> None:
    with start_zygote() as zygote:
        worker = zygote.spawn(plan)
        old = zygote.pid
        os.kill(old, signal.SIGKILL)
        assert _await_end(worker.pid)
        assert worker.wait(worker.command(Command.LOAD), 20).kind == "died"
        again = zygote.spawn(plan)
        assert zygote.pid != old
        assert _load(again)


def test_closing_ends_everything(plan: WorkerPlan) -> None:
    zygote = start_zygote()
    worker = zygote.spawn(plan)
    zygote.close()
    zygote.close()
    assert _await_end(worker.pid, zygote.pid)
    with pytest.raises(JailError, match="closed"):
        zygote.spawn(plan)


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)"])
def test_a_judge_that_dies_leaves_nothing_behind(tmp_path: Path, end: str) -> None:
    (tmp_path / "kernel.py").write_text(
        textwrap.dedent("""
            import os, time
            heard, say = os.pipe()
            if os.fork() == 0:
                os.setsid()
                if os.fork():
                    os._exit(0)
                os.write(say, str(os.getpid()).encode())
                time.sleep(1000)
            print("daemon", os.read(heard, 20).decode())
            def run(x):
                return x
        """)
    )
    judge = textwrap.dedent(f"""
        import os
        from solbench.jail import *
        zygote = start_zygote()
        artifact = Artifact({str(tmp_path)!r}, "kernel.py", "run", "python", False, "test")
        worker = zygote.spawn(WorkerPlan(artifact, (), "cpu"))
        assert worker.wait(worker.command(Command.LOAD), 20).ok
        print(zygote.pid, worker.pid, worker.log_tail().split()[1], zygote._base, flush=True)
        {end}
    """)
    done = subprocess.run(
        [sys.executable, "-c", judge], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout, done.stderr
    *pids, base = done.stdout.split()
    assert _await_end(*map(int, pids))
    assert not Path(base).exists()


def test_buffers_that_do_not_fit_the_layouts_are_refused(
    own_zygote: ZygoteClient, plan: WorkerPlan
) -> None:
    memory = Memory(4096, sealed=False)
    wrong = WorkerPlan(plan.artifact, (DEFAULT_LAYOUT,), "cpu")
    pair = SlotBuffers(memory.fd, memory.fd)
    with pytest.raises(JailError, match="buffers for"):
        own_zygote.spawn(wrong, [[pair, pair]])
    memory.close()


def test_a_worker_that_cannot_start_is_an_error_with_its_reason(
    own_zygote: ZygoteClient, plan: WorkerPlan
) -> None:
    with pytest.raises(JailError, match="worker_quantum"):
        own_zygote.spawn(WorkerPlan(plan.artifact, (), "quantum"))


def test_the_zygote_has_one_thread_and_ran_no_operation(
    own_zygote: ZygoteClient, plan: WorkerPlan
) -> None:
    own_zygote.spawn(plan).kill()
    assert len(list(Path(f"/proc/{own_zygote.pid}/task").iterdir())) == 1


def test_half_a_request_is_not_the_beginning_of_the_next(
    plan: WorkerPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_zygote() as client:
        first = client.spawn(plan, [])

        def full(*_: object) -> None:
            raise OSError(errno.ETOOMANYREFS, "too many on their way")

        with monkeypatch.context() as while_full:
            while_full.setattr(socket, "send_fds", full)
            with pytest.raises(JailError, match=r"does not answer: .*on their way"):
                client.spawn(plan, [])
        assert _load(client.spawn(plan, []))
        assert _await_end(first.pid)


def test_the_judge_may_have_as_many_descriptors_as_the_system_lets_it() -> None:
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        with start_zygote():
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
