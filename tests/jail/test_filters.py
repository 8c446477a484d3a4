"""The system call filters, checked by an interpreter of their own."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest
from tests.jail._bpf_machine import interpret

from solbench.jail.walls import _bpf, _seccomp, _syscalls

PID = 4321
ARCHITECTURE = _syscalls.AUDIT_ARCHITECTURE[os.uname().machine]
ALLOW = _bpf.ALLOW
EPERM = _bpf.answer(errno.EPERM)
PAGE = _seccomp.SEAL_ADDRESS

PREPARE = _seccomp.prepare_program(PID, memfd=False)
SEAL = _seccomp.seal_program()


def ask(program: bytes, name: str, *arguments: int) -> int:
    return interpret(program, _syscalls.required(name), arguments, ARCHITECTURE)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("kill", (PID, 15), ALLOW),
        ("kill", (PID, 18), EPERM),
        ("kill", (PID + 1, 15), EPERM),
        ("kill", (-1, 9), EPERM),
        ("kill", (0, 9), EPERM),
        ("tgkill", (PID, PID + 3, 6), ALLOW),
        ("tgkill", (PID, PID + 3, 18), EPERM),
        ("tgkill", (PID - 1, PID, 6), EPERM),
        ("tkill", (PID + 3, 6), EPERM),
        ("prlimit64", (0, 7, 0, 0), ALLOW),
        ("prlimit64", (PID, 7, 0, 0), ALLOW),
        ("prlimit64", (PID + 1, 7, 0, 0), EPERM),
        ("clone", (0x3D0F00,), ALLOW),  # a thread
        ("clone", (17,), ALLOW),  # fork
        ("clone", (0x10000000 | 17,), EPERM),
        ("clone", (0x20000 | 17,), EPERM),
        ("clone", (0x8000 | 17,), EPERM),
        ("socket", (1, 1), ALLOW),
        ("socket", (1, 1 | 0o2000000), ALLOW),
        ("socket", (1, 5), ALLOW),
        ("socket", (1, 2), EPERM),
        ("socket", (2, 1), EPERM),
        ("socket", (10, 2), EPERM),
        ("socket", (16, 3), EPERM),
        ("connect", (3, 4096, 16), EPERM),
        ("prctl", (15, 0), ALLOW),
        ("prctl", (1, 0), EPERM),
        ("prctl", (4, 0), EPERM),
        ("prctl", (22, 2), EPERM),
        ("seccomp", (1, 1, PAGE), ALLOW),
        ("seccomp", (1, 1, PAGE + 8), EPERM),
        ("seccomp", (1, 1, PAGE + (1 << 32)), EPERM),
        ("seccomp", (1, 0, PAGE), EPERM),
        ("seccomp", (0, 0, 0), EPERM),
        ("timer_create", (0, 0, 4096), ALLOW),
        ("timer_create", (0, 4096, 4096), EPERM),
        ("timer_create", (0, 1 << 32, 4096), EPERM),
        ("mmap", (0, 4096, 3, 0x22), ALLOW),
        ("mmap", (0x400000, 4096, 3, 0x32), ALLOW),
        ("mmap", ((1 << 40) + PAGE, 4096, 3, 0x32), ALLOW),
        ("mmap", (PAGE, 4096, 3, 0x32), EPERM),
        ("mmap", (0x10000, 1 << 30, 3, 0x32), EPERM),
        ("mmap", (0, 1 << 30, 3, 0x32), EPERM),
        ("munmap", (0x30000, 4096), ALLOW),
        ("munmap", (PAGE, 4096), EPERM),
        ("munmap", (0, 1 << 46), EPERM),
        ("mprotect", (PAGE, 4096, 3), EPERM),
        ("mremap", (PAGE, 4096, 4096, 1, 0), EPERM),
        ("mremap", (1 << 40, 4096, 4096, 3, PAGE), EPERM),
        ("mremap", (1 << 40, 4096, 8192, 1, 0), ALLOW),
        ("fcntl", (3, 2, 1), ALLOW),
        ("fcntl", (3, 8, 1), EPERM),
        ("fcntl", (3, 10, 18), EPERM),
        ("ioctl", (3, 0x5401), ALLOW),
        ("ioctl", (3, 0x8901), EPERM),
        ("ptrace", (16, 1), EPERM),
        ("process_vm_readv", (), EPERM),
        ("io_uring_setup", (), EPERM),
        ("memfd_create", (), EPERM),
        ("fchmod", (3, 0o777), _bpf.answer(0)),
        ("clone3", (), _bpf.answer(errno.ENOSYS)),
        ("execve", (), ALLOW),
    ],
)
def test_what_the_prepare_filter_answers(
    name: str, arguments: tuple[int, ...], expected: int
) -> None:
    assert ask(PREPARE, name, *arguments) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("execve", (), EPERM),
        ("execveat", (), EPERM),
        ("clone", (17,), EPERM),
        ("clone", (0x3D0F00,), ALLOW),
        ("memfd_create", (), EPERM),
        ("seccomp", (1, 1, PAGE), EPERM),
        ("mmap", (0, 4096), ALLOW),
    ],
)
def test_what_the_seal_answers(name: str, arguments: tuple[int, ...], expected: int) -> None:
    assert ask(SEAL, name, *arguments) == expected


def test_anonymous_files_pass_until_the_seal_where_they_are_asked_for() -> None:
    assert ask(_seccomp.prepare_program(PID, memfd=True), "memfd_create") == ALLOW


@pytest.mark.parametrize("program", [PREPARE, SEAL])
def test_foreign_architectures_die_and_x32_does_not_exist(program: bytes) -> None:
    assert interpret(program, 1, (), 0x40000003) == _bpf.KILL_PROCESS
    assert interpret(program, 0x40000000 | 59, (), ARCHITECTURE) == _bpf.answer(errno.ENOSYS)


def test_ordinary_calls_pass_both_filters() -> None:
    named = {
        number for name in _syscalls._NUMBERS if (number := _syscalls.number(name)) is not None
    }
    for number in set(range(424)) - named:
        assert interpret(PREPARE, number, (), ARCHITECTURE) == ALLOW
        assert interpret(SEAL, number, (), ARCHITECTURE) == ALLOW


def _header_numbers(path: Path) -> dict[str, int]:
    pattern = re.compile(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$", re.MULTILINE)
    return {name: int(number) for name, number in pattern.findall(path.read_text())}


@pytest.mark.parametrize(
    ("column", "header"),
    [
        (0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        (1, "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_numbers_are_those_of_the_systems_headers(column: int, header: str) -> None:
    path = Path(header)
    if not path.exists():
        pytest.skip(f"{header} is not installed")
    numbers = _header_numbers(path)
    compared = {
        name: (pair[column], numbers.get(name))
        for name, pair in _syscalls._NUMBERS.items()
        if name in numbers or (pair[column] is not None and pair[column] < 424)
    }
    assert len(compared) > 80
    assert {name: pair for name, pair in compared.items() if pair[0] != pair[1]} == {}
