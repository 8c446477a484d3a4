"""The walls: every layer between untrusted code and the machine, in pure Python and ctypes.

Walls bind the calling thread and what it starts, so they are raised in a process that has one thread,
before CUDA or torch start more. Order matters: namespaces first (they need ``/proc`` and, later, the
capabilities inside them), then limits, then no capabilities, then Landlock, then the filter that also
forbids undoing any of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable

from solbench.errors import JailError
from solbench.jail.walls._landlock import AllowList, abi, restrict
from solbench.jail.walls._limits import close_descriptors, limit_resources
from solbench.jail.walls._memory import map_fixed, populate
from solbench.jail.walls._policy import (
    compiler_allow_list,
    cuda_driver_folder,
    worker_allow_list,
)
from solbench.jail.walls._privileges import (
    adopt_orphans,
    die_with_parent,
    drop_capabilities,
    enter_namespaces,
    no_new_privileges,
)
from solbench.jail.walls._seccomp import raise_prepare, raise_seal

__all__ = [
    "LAYERS",
    "AllowList",
    "adopt_orphans",
    "close_descriptors",
    "compiler_allow_list",
    "cuda_driver_folder",
    "landlock_version",
    "map_fixed",
    "populate",
    "raise_seal",
    "raise_walls",
    "worker_allow_list",
]

LAYERS = (
    "descriptors", "no_new_privs", "namespaces", "limits", "capabilities", "lifetime", "landlock",
    "seccomp",
)  # fmt: skip
"""In the order in which they are raised."""

_FULL_LANDLOCK = 6
"""The first version that also guards abstract sockets and signals."""


def landlock_version() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    try:
        return abi()
    except (OSError, JailError):
        return 0


def raise_walls(
    allowed: AllowList,
    *,
    keep: Iterable[int],
    memfd: bool,
    parent: int,
    leave_out: Collection[str] = (),
) -> dict[str, str]:
    """Raise every layer that this machine has: layer → ``""``, or why it does not stand.

    ``keep`` are the descriptors to leave open; ``memfd`` allows anonymous files until the seal;
    ``parent`` is the process whose death is this one's too. ``leave_out`` names layers to do without, for
    finding out what they are good for.
    """
    layers: dict[str, str] = {}

    def attempt(name: str, layer: Callable[[], object]) -> None:
        if name in leave_out:
            layers[name] = "left out on request"
            return
        try:
            layer()
            layers[name] = ""
        except (OSError, ValueError, JailError) as error:
            layers[name] = str(error) or type(error).__name__

    kept = tuple(keep)
    attempt("descriptors", lambda: close_descriptors(kept))
    attempt("no_new_privs", no_new_privileges)
    attempt("namespaces", enter_namespaces)
    in_namespace = not layers["namespaces"]
    attempt(
        "limits", lambda: limit_resources(descriptors=len(kept), own_user_namespace=in_namespace)
    )
    attempt("capabilities", drop_capabilities)
    attempt("lifetime", lambda: die_with_parent(parent))
    attempt("landlock", lambda: _landlock(allowed))
    attempt("seccomp", lambda: raise_prepare(memfd=memfd))
    os.umask(0o077)
    return layers


def _landlock(allowed: AllowList) -> None:
    version = restrict(allowed)
    if version < _FULL_LANDLOCK:
        raise JailError(
            f"Landlock version {version} does not guard signals (needs {_FULL_LANDLOCK})"
        )
