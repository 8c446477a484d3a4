"""A small assembler for seccomp filters.

A filter is a list of *blocks*, each about one system call number and each leaving the number in the
accumulator if it does not decide, so blocks can be put together in any order. The kernel remembers which
numbers are always allowed, so the length of the list costs nothing for ordinary calls.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, constant."""

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_JUMP_EQUAL = 0x15
_JUMP_GREATER_EQUAL = 0x35
_RETURN = 0x06

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000

_OFFSET_NUMBER = 0
_OFFSET_ARCHITECTURE = 4
_OFFSET_ARGUMENTS = 16

X32_BIT = 0x40000000

Comparison = Literal["==", "!=", "<", ">="]


def answer(errno_value: int) -> int:
    """The action that answers with this errno; 0 pretends success without doing anything."""
    return _ERRNO | errno_value


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison of one 32-bit half of an argument (little endian), after ``& mask``."""

    argument: int
    comparison: Comparison
    value: int
    mask: int = 0xFFFFFFFF
    high: bool = False

    def assemble(self, to_fail: int) -> list[Instruction]:
        """Falls through when it holds; else skips ``to_fail`` instructions after its own end."""
        load = (_LOAD, 0, 0, _OFFSET_ARGUMENTS + 8 * self.argument + (4 if self.high else 0))
        masked = [] if self.mask == 0xFFFFFFFF else [(_AND, 0, 0, self.mask)]
        code = _JUMP_EQUAL if self.comparison in ("==", "!=") else _JUMP_GREATER_EQUAL
        holds_if_true = self.comparison in ("==", ">=")
        jumps = (0, to_fail) if holds_if_true else (to_fail, 0)
        return [load, *masked, (code, *jumps, self.value)]


def always(number: int, action: int) -> list[Instruction]:
    """Every call of this number gets the action."""
    return [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, action)]


def whenever(number: int, cases: Sequence[Sequence[Test]], action: int) -> list[Instruction]:
    """A call of this number gets the action if in one case every test holds; else it is allowed."""
    body: list[Instruction] = []
    for case in cases:
        body += _case(case, action)
    body.append((_RETURN, 0, 0, ALLOW))
    return [(_JUMP_EQUAL, 0, len(body), number), *body]


def _case(case: Sequence[Test], action: int) -> list[Instruction]:
    assembled: list[Instruction] = [(_RETURN, 0, 0, action)]
    for test in reversed(case):
        assembled = test.assemble(to_fail=len(assembled)) + assembled
    return assembled


def program(architecture: int, blocks: Sequence[list[Instruction]]) -> bytes:
    """The whole filter: foreign architectures die, x32 numbers do not exist, the rest is allowed."""
    instructions: list[Instruction] = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, KILL_PROCESS),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
        (_JUMP_GREATER_EQUAL, 0, 1, X32_BIT),
        (_RETURN, 0, 0, answer(38)),  # ENOSYS
    ]
    for block in blocks:
        instructions += block
    instructions.append((_RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
