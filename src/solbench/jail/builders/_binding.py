"""How a compiled solution is entered: what its compiler and linker need, and how the worker loads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

Kind = Literal["c", "tvm_ffi", "extension"]


@dataclass(frozen=True, slots=True)
class Binding:
    """Additions to a build; flags are the host compiler's."""

    kind: Kind
    includes: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()
    """Shared objects to link with, by path."""
    version: str = ""
    """Of what is included: part of an artifact's digest."""

    def compiler_flags(self) -> tuple[str, ...]:
        included = tuple(word for folder in self.includes for word in ("-isystem", str(folder)))
        return (*included, *(f"-D{each}" for each in self.defines))

    def link_flags(self) -> tuple[str, ...]:
        return tuple(
            word
            for library in self.libraries
            for word in (f"-L{library.parent}", f"-l:{library.name}")
        )

    def toolchain(self) -> tuple[str, ...]:
        """Folders that the jailed compiler has to read."""
        folders = dict.fromkeys((*self.includes, *(each.parent for each in self.libraries)))
        return tuple(map(str, folders))


def join(first: Binding, *others: Binding) -> Binding:
    """The first one's way in, with what all of them need."""
    everything = (first, *others)
    return Binding(
        kind=first.kind,
        includes=_all(everything, lambda each: each.includes),
        defines=_all(everything, lambda each: each.defines),
        libraries=_all(everything, lambda each: each.libraries),
        version="; ".join(each.version for each in everything if each.version),
    )


T = TypeVar("T")


def _all(bindings: tuple[Binding, ...], part: Callable[[Binding], tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(item for each in bindings for item in part(each))
