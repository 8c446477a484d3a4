"""Running a compiler behind walls: no network, no GPU, only its sources to read and its folder to write."""

from __future__ import annotations

import functools
import json
import os
import re
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from solbench.errors import BuildError
from solbench.jail import _processes
from solbench.jail._client import clean_environment, import_path
from solbench.jail._folders import OwnedFolder
from solbench.jail.builders._header import HEADER, HEADER_NAME

OUTPUT_NAME = "solution.so"
_LOG_BYTES = 256 << 10
_TIMEOUT_S = 600.0

_BOOTSTRAP = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from solbench.jail.compiler import main; main(*sys.argv[2:])"
)

_ERRORS = (
    re.compile(r"^(?P<where>[^\s:(]+:\d+)(:\d+)?: (fatal )?[Ee]rror: (?P<what>.*)$", re.MULTILINE),
    re.compile(r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): .*?error.*?: (?P<what>.*)$", re.MULTILINE),
    re.compile(r"^ptxas \S*, line (?P<ptx>\d+); error\s*: (?P<what>.*)$", re.MULTILINE),
    re.compile(
        r"^(?P<what>.*(undefined reference|cannot find -l|multiple definition).*)$", re.MULTILINE
    ),
    re.compile(r"^(?P<what>.*\b(error|fatal)\b.*)$", re.MULTILINE | re.IGNORECASE),
)


@dataclass(frozen=True, slots=True)
class Compilation:
    """One compiler run. ``{sources}``, ``{include}`` and ``{output}`` in the command are replaced."""

    command: tuple[str, ...]
    texts: Mapping[str, str]
    toolchain: tuple[str, ...] = ()
    """Folders beside the system's own that the compiler needs."""
    timeout_s: float = _TIMEOUT_S


def compile_into(folder: Path, compilation: Compilation) -> None:
    """Leave the shared object and nothing else of the compiler's in ``folder``.

    Raises ``BuildError`` with the compiler's first error.
    """
    with OwnedFolder("solbench-build-") as base:
        sources, scratch = base / "sources", base / "scratch"
        scratch.mkdir()
        _write(sources, compilation.texts)
        names = {"{include}": str(sources / "_solbench"), "{output}": str(scratch / OUTPUT_NAME)}
        command = [names.get(word, word) for word in compilation.command]
        code, log = _run(command, sources, scratch, compilation)
        if code:
            raise BuildError(first_error(log), log)
        _collect(scratch / OUTPUT_NAME, folder / OUTPUT_NAME, log)


def _write(sources: Path, texts: Mapping[str, str]) -> None:
    for path, text in {**texts, f"_solbench/{HEADER_NAME}": HEADER}.items():
        target = sources / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _collect(made: Path, target: Path, log: str) -> None:
    """Copy the result, unless it is something else than a file: the jail wrote that folder."""
    try:
        mode = made.lstat().st_mode
    except FileNotFoundError:
        raise BuildError("the compiler made no shared object", log) from None
    if not stat.S_ISREG(mode):
        raise BuildError("the compiler's output is no ordinary file", log)
    shutil.copyfile(made, target, follow_symlinks=False)


def _run(
    command: Sequence[str], sources: Path, scratch: Path, compilation: Compilation
) -> tuple[int, str]:
    launch = {
        "command": command,
        "sources": str(sources),
        "scratch": str(scratch),
        "toolchain": compilation.toolchain,
    }
    process = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-B",
            "-c",
            _BOOTSTRAP,
            json.dumps(import_path()),
            json.dumps(launch),
            str(os.getpid()),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=sources,
        env={**clean_environment(), "TMPDIR": str(scratch), "HOME": str(scratch)},
        start_new_session=True,
    )
    assert process.stdout is not None
    with process.stdout as output:
        try:
            log, in_time = _read(output, compilation.timeout_s)
            if not in_time:
                raise BuildError(f"the compiler did not finish in {compilation.timeout_s:g} s", log)
            return process.wait(), log
        finally:
            _end(process)


def _read(output: IO[bytes], timeout_s: float) -> tuple[str, bool]:
    """The first part of the output, the rest thrown away; and whether it ended in time."""
    deadline, kept = time.monotonic() + timeout_s, bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(left):
                break
            data = os.read(output.fileno(), 1 << 16)
            if not data:
                return kept.decode("utf-8", "replace"), True
            kept += data[: max(0, _LOG_BYTES - len(kept))]
    return kept.decode("utf-8", "replace"), False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the compiler: it may have outlived its time."""
    if process.poll() is None:
        namespace = _processes.namespace(process.pid, "user")
        shared = namespace == _processes.namespace("self", "user")
        _processes.end_all(lambda: _processes.descendants(process.pid, "" if shared else namespace))
        process.send_signal(signal.SIGKILL)
    process.wait()


def first_error(log: str) -> str:
    """The compiler's first error as ``file:line: message``, or its last line."""
    found = [(match.start(), match) for pattern in _ERRORS[:-1] if (match := pattern.search(log))]
    if found:
        return _as_text(min(found, key=lambda pair: pair[0])[1])
    match = _ERRORS[-1].search(log)
    if match:
        return _as_text(match)
    lines = log.strip().splitlines()
    return lines[-1] if lines else "the compiler failed without a message"


def _as_text(match: re.Match[str]) -> str:
    named = match.groupdict()
    if named.get("ptx"):
        return f"PTX line {named['ptx']}: {named['what']}"
    where = named.get("where") or (f"{named['file']}:{named['line']}" if named.get("file") else "")
    where = where.removeprefix("./")
    return f"{where}: {named['what']}" if where else named["what"].strip()


@functools.lru_cache
def version(compiler: str) -> str:
    """What the compiler says of itself: part of an artifact's digest."""
    asked = subprocess.run(
        [compiler, "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    return asked.stdout.strip()


@functools.lru_cache
def cpu_features() -> str:
    """What ``-march=native`` depends on."""
    wanted = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))
