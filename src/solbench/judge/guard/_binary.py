"""Built artifacts: what a shared object asks of the C library, and programs within it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from solbench.jail.protocol import Artifact
from solbench.judge.guard._finding import Finding

_FORBIDDEN = frozenset(
    {"ptrace", "fork", "vfork", "execve", "execv", "execvp", "posix_spawn", "system", "popen",
     "process_vm_readv", "process_vm_writev", "kill", "tgkill", "mprotect", "dl_iterate_phdr",
     "setsid", "dlsym", "dlvsym", "cuptiActivityDisable", "cuptiActivityFlushAll",
     "cuptiUnsubscribe"}
)  # fmt: skip
"""Names that a kernel's host code imports for no good reason."""
_CUDA_RUNTIME = frozenset({"dlsym", "dlvsym", "kill", "mprotect"})
"""Of these, what the CUDA runtime imports, which nvcc links into every object with device code: there they say
nothing about the source."""
_DEVICE_CODE = b"\0.nv_fatbin\0"
"""Name of the section that nvcc puts it in."""
_ELF = b"\x7fELF\x02\x01"
"""64 bits, little-endian: every machine that SolBench evaluates on."""
_MACHINE_OFFSET = 18
_CUDA_MACHINE = 190
"""EM_CUDA of elf.h: device code, which nvcc embeds."""
_DYNSYM = 11
"""SHT_DYNSYM of elf.h."""
_SECTION = struct.Struct("<IIQQQQIIQQ")
"""Elf64_Shdr: name, type, flags, address, offset, size, link, info, alignment, entry size."""
_SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym: name, info, other, section, value, size."""
_MOST_SYMBOLS = 100_000
_LARGEST_BYTES = 64 << 20


def review_artifact(artifact: Artifact) -> tuple[Finding, ...]:
    """:func:`review_binary` of what was compiled; nothing for Python."""
    if artifact.kind == "python":
        return ()
    return review_binary(Path(artifact.folder) / artifact.entry_file)


def review_binary(path: Path) -> tuple[Finding, ...]:
    """What a built shared object shows: forbidden imports, and host programs embedded in it.

    ``OSError`` for a file that cannot be read.
    """
    if path.stat().st_size > _LARGEST_BYTES:
        return (Finding("unread", "warning", path.name, 0, "larger than 64 MiB: not read"),)
    data = path.read_bytes()
    try:
        imported = set(_imported(data))
    except (struct.error, IndexError, ValueError):
        return (Finding("unread", "warning", path.name, 0, "is no ELF file that can be read"),)
    return (
        *(
            Finding("binary_import", "alarm", path.name, 0, f"imports {name}")
            for name in sorted(imported & _forbidden_in(data))
        ),
        *_embedded(path.name, data),
    )


def _forbidden_in(data: bytes) -> frozenset[str]:
    return _FORBIDDEN - _CUDA_RUNTIME if _DEVICE_CODE in data else _FORBIDDEN


def _imported(data: bytes) -> Iterator[str]:
    """Names of the dynamic symbols that are not defined here."""
    if not data.startswith(_ELF):
        raise ValueError
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [_SECTION.unpack_from(data, table + number * size) for number in range(count)]
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != _DYNSYM:
            continue
        names = sections[link][4]
        for number in range(min(length // _SYMBOL.size, _MOST_SYMBOLS)):
            name, _, _, section, _, _ = _SYMBOL.unpack_from(data, offset + number * _SYMBOL.size)
            if not section:
                end = data.index(b"\0", names + name)
                yield data[names + name : end].decode("latin-1")


def _embedded(name: str, data: bytes) -> Iterator[Finding]:
    start = data.find(_ELF, 1)
    while start >= 0:
        at = start + _MACHINE_OFFSET
        machine = int.from_bytes(data[at : at + 2], "little")
        if machine != _CUDA_MACHINE:
            message = f"holds a program for machine {machine} at byte {start}"
            yield Finding("binary_embedded", "alarm", name, 0, message)
            return
        start = data.find(_ELF, start + 1)
