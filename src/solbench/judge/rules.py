"""Running a suggested rule behind walls: the jail of :mod:`solbench.bound.suggest`."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from solbench.bound.graph import Graph
from solbench.errors import JailError
from solbench.jail import child_environment, child_import_path

TIMEOUT_S = 120.0
_OUTPUT_BYTES = 16 << 20
_BOOTSTRAP = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from solbench.judge._rule_worker import main; main(*sys.argv[2:])"
)


class RuleJail:
    """One process for every rule; it ends with the answer."""

    def lift(self, text: str, calls: Sequence[Graph]) -> list[Any]:
        """What the rule made of every call, as plain data. See :class:`solbench.bound.suggest.Jail`."""
        with tempfile.TemporaryDirectory(prefix="solbench-rule-") as scratch:
            code, output, log = _run(pickle.dumps((text, list(calls))), scratch)
        lines = output.split(b"\n")
        _check_walls(lines[0], log)
        if code or len(lines) < 2:
            raise JailError(f"the rule failed behind walls: {_last_line(log)}")
        try:
            documents = json.loads(lines[1])
        except ValueError:
            raise JailError("the rule wrote something else than an answer") from None
        return documents if isinstance(documents, list) else []


def _run(given: bytes, scratch: str) -> tuple[int, bytes, bytes]:
    """Exit code, output and errors, each cut to a length."""
    path = json.dumps(child_import_path())
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", _BOOTSTRAP, path, scratch, str(os.getpid())],
            stdin=subprocess.PIPE, stdout=output, stderr=errors, cwd=scratch,
            env={**child_environment(), "OMP_NUM_THREADS": "1", "HOME": scratch, "TMPDIR": scratch},
            start_new_session=True,
        )  # fmt: skip
        try:
            process.communicate(given, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise JailError(f"the rule did not finish in {TIMEOUT_S:g} s") from None
        finally:
            process.kill()
            process.wait()
        for file in (output, errors):
            file.seek(0)
        return process.returncode, output.read(_OUTPUT_BYTES), errors.read(1 << 16)


def _check_walls(line: bytes, log: bytes) -> None:
    """The first line was written before the rule ran."""
    try:
        layers: dict[str, str] = json.loads(line)["layers"]
    except (ValueError, KeyError, TypeError):
        raise JailError(f"the rule's process did not start: {_last_line(log)}") from None
    missing = [f"{name} ({reason})" for name, reason in layers.items() if reason]
    if missing:
        raise JailError(
            f"a suggested rule only runs behind all walls; missing: {', '.join(missing)}"
        )


def _last_line(log: bytes) -> str:
    lines = log.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "without a message"
