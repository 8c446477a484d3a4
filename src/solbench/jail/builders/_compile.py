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
from solbench.jail._files import Files
from solbench.jail._folders import OwnedFolder
from solbench.jail.builders._header import HEADER, HEADER_NAME

OUTPUT_NAME = "solution.so"
_LOG_BYTES = 256 << 10
_TIMEOUT_S = 600.0
_SCRATCH_BYTES = 4 << 30
"""What a compiler may have written at a time: a few lines of assembler fill any disk."""
_OBJECT_BYTES = 512 << 20
"""Of a shared object; it stays in the cache."""
_LOOK_EVERY_S = 0.25

_BOOTSTRAP = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from solbench.jail.compiler import main; main(*sys.argv[2:])"
)

_ERRORS = (
    re.compile(r"^(?P<where>[^\s:(]+:\d+)(:\d+)?: (fatal )?[Ee]rror: (?P<what>.*)$", re.MULTILINE),
    re.compile(
        r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): (?>.*?error).*?: (?P<what>.*)$", re.MULTILINE
    ),
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
        # Beside the solution's own files, not among them: their names are the solution's choice.
        sources, include = base / "sources" / "solution", base / "sources" / "include"
        scratch = base / "scratch"
        scratch.mkdir()
        _write(sources, compilation.texts)
        _write(include, {HEADER_NAME: HEADER})
        names = {"{include}": str(include), "{output}": str(scratch / OUTPUT_NAME)}
        command = [names.get(word, word) for word in compilation.command]
        code, log = _run(command, sources, scratch, compilation)
        if code:
            raise BuildError(first_error(log), log)
        _collect(scratch / OUTPUT_NAME, folder / OUTPUT_NAME, log)


def _write(sources: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        target = sources / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _collect(made: Path, target: Path, log: str) -> None:
    """Copy the result, unless it is something else than a file: the jail wrote that folder."""
    try:
        seen = made.lstat()
    except FileNotFoundError:
        raise BuildError("the compiler made no shared object", log) from None
    if not stat.S_ISREG(seen.st_mode):
        raise BuildError("the compiler's output is no ordinary file", log)
    if seen.st_size > _OBJECT_BYTES:
        size, most = seen.st_size >> 20, _OBJECT_BYTES >> 20
        raise BuildError(f"the shared object has {size} MiB; it may have {most}", log)
    shutil.copyfile(made, target, follow_symlinks=False)


def _run(
    command: Sequence[str], sources: Path, scratch: Path, compilation: Compilation
) -> tuple[int, str]:
    launch = {
        "command": command,
        "sources": str(sources.parent),
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
            log = _read(process, output, Files(scratch), compilation.timeout_s)
        finally:
            code = _end(process)
    return code, log


def _read(
    process: subprocess.Popen[bytes], output: IO[bytes], files: Files, timeout_s: float
) -> str:
    """The first part of the output, the rest thrown away, once the compiler is over.

    Raises ``BuildError`` if it takes too long, or writes too much.
    """
    deadline, kept, reading = time.monotonic() + timeout_s, bytearray(), True
    pidfd = os.pidfd_open(process.pid)
    try:
        with selectors.DefaultSelector() as selector:
            ended = selector.register(pidfd, selectors.EVENT_READ)
            selector.register(output, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                ready = [key for key, _ in selector.select(_LOOK_EVERY_S)]
                if reading and any(key is not ended for key in ready):
                    data = os.read(output.fileno(), 1 << 16)
                    kept += data[: max(0, _LOG_BYTES - len(kept))]
                    if not data:
                        selector.unregister(output)
                        reading = False
                elif ended in ready:
                    return _text(kept)
                if files.bytes((), _SCRATCH_BYTES) > _SCRATCH_BYTES:
                    most = f"more than {_SCRATCH_BYTES >> 30} GiB of files"
                    raise BuildError(f"the compiler wrote {most}", _text(kept))
    finally:
        os.close(pidfd)
    raise BuildError(f"the compiler did not finish in {timeout_s:g} s", _text(kept))


def _text(log: bytearray) -> str:
    return log.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of the compiler, also what it started and left behind; its exit code.

    It leads a group of its own, which its filter lets no one leave, and has not been waited for: the group's
    number is surely its own.
    """
    namespace = _processes.namespace(process.pid, "user")
    shared = namespace == _processes.namespace("self", "user")
    _processes.signal_group(process.pid, signal.SIGKILL)
    _processes.end_all(lambda: _processes.descendants(process.pid, "" if shared else namespace))
    return process.wait()


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
