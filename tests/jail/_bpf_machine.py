"""A seccomp filter interpreter: an independent check of the assembler's jumps."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def interpret(code: bytes, number: int, arguments: Sequence[int], architecture: int) -> int:
    """What the filter answers to a call."""
    packed = [argument & (1 << 64) - 1 for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("=IIQ6Q", number, architecture, 0, *packed)
    accumulator, position = 0, 0
    while True:
        kind, if_true, if_false, constant = struct.unpack_from("=HBBI", code, position * 8)
        position += 1
        if kind == 0x06:
            return int(constant)
        if kind == 0x20:
            accumulator = struct.unpack_from("=I", data, constant)[0]
        elif kind == 0x54:
            accumulator &= constant
        else:
            equal = kind == 0x15
            holds = accumulator == constant if equal else accumulator >= constant
            position += if_true if holds else if_false
