"""``solbench serve`` as a process: it says where it is, works with the real judge, and ends when told to."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytestmark = pytest.mark.xdist_group("judge")


def test_it_serves_and_ends_when_told(problem_folder: Path) -> None:
    from solbench.service import Client
    from solbench.spec import load_solution

    command = [sys.executable, "-m", "solbench", "serve", "--port", "0", "--json"]
    command += ["--root", str(problem_folder.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            client = Client(json.loads(process.stdout.readline())["url"])
            solution = load_solution(problem_folder / "solution.json")
            job = client.evaluate("double", solution, timeout_s=100)
            assert (job.state, job.passed, len(job.traces)) == ("done", True, 2), job.error
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_beyond_this_machine_it_wants_a_token(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOLBENCH_SERVICE_TOKEN", raising=False)
    result = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert result.exit_code == 2
    assert "SOLBENCH_SERVICE_TOKEN" in result.stderr


def test_a_port_that_is_taken_is_an_error(run: Any) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("serve", "--port", taken.getsockname()[1])
    assert result.exit_code == 3
    assert "cannot listen" in result.stderr
