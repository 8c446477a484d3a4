"""A builder reaches no network, device or input; what it makes runs in workers only."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.jail.conftest import Spawn
from tests.judge.test_kills import PROBLEM

from solbench.errors import BuildError
from solbench.jail import Command, build
from solbench.jail.builders import _compile
from solbench.judge.attacks import Submission

needs_cpp = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def _said(script: str, tmp_path: Path) -> str:
    """What a shell says that is started as a compiler would be, and then fails."""
    command = ("/bin/bash", "-c", f"{script}; exit 1")
    with pytest.raises(BuildError) as caught:
        _compile.compile_into(tmp_path, _compile.Compilation(command, {"k.cpp": ""}))
    return caught.value.log


def test_a_builder_has_no_network(tmp_path: Path, needs_layers: Callable[..., None]) -> None:
    needs_layers("seccomp", "namespaces")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached || echo not reached"
        assert _said(script, tmp_path).strip().endswith("not reached")


@pytest.mark.parametrize(
    "place", ["/dev/nvidiactl", "/dev/nvidia0", "/dev/shm", "/proc/1/fd", "/tmp"]
)
def test_a_builder_sees_no_device_and_nobodys_files(
    tmp_path: Path, needs_layers: Callable[..., None], place: str
) -> None:
    needs_layers("landlock")
    script = f"(ls {place}/ || cat {place}) 2>/dev/null && echo reached || echo not reached"
    assert _said(script, tmp_path).strip() == "not reached"


def test_a_builder_inherits_no_descriptor(tmp_path: Path) -> None:
    inherited = os.memfd_create("inputs", 0)
    high = fcntl.fcntl(inherited, fcntl.F_DUPFD, 77)
    os.set_inheritable(high, True)
    try:
        said = _said("echo /proc/$$/fd/*", tmp_path)
    finally:
        os.close(inherited)
        os.close(high)
    numbers = {int(Path(word).name) for word in said.split()}
    assert {0, 1, 2} <= numbers
    assert high not in numbers


@needs_cpp
def test_static_initialisers_run_in_the_worker_and_nowhere_else(
    spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOLBENCH_CACHE_DIR", str(tmp_path / "cache"))
    marker = tmp_path / "marker"
    source = f"""
        #include <fcntl.h>
        #include <stdio.h>
        #include <unistd.h>
        #include "solbench.h"
        static int at_load = [] {{
          printf("loaded by %d\\n", (int)getpid());
          fflush(stdout);
          return open("{marker}", O_CREAT | O_WRONLY, 0600);
        }}();
        extern "C" int run(const DLTensor* const*, DLTensor* const*, const double*, void*) {{
          return at_load >= 0;
        }}
    """
    artifact = build(Submission(source, language="cpp").solution(PROBLEM, "initialiser"), "cpu")
    assert not marker.exists()
    jailed = spawn(artifact=artifact)
    assert jailed.do(Command.LOAD).ok
    assert jailed.worker.log_tail() == f"loaded by {jailed.worker.pid}\n"
    assert not marker.exists()
