"""Privileges: ``no_new_privs``, namespaces of our own, and no capability left."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

from solbench.jail.walls import _libc

_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWUTS = 0x10000000, 0x40000000, 0x04000000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 24, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_PR_SET_CHILD_SUBREAPER = 36
_CAPABILITY_VERSION_3 = 0x20080522


def no_new_privileges() -> None:
    """No program started from here gains anything by being setuid."""
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1)


def enter_namespaces() -> None:
    """User, network and UTS namespaces; the user keeps its number. Needs a single-threaded process.

    Processes of another user namespace cannot be traced, and there is no way to the network in an empty one.
    There is no PID namespace: CUDA IPC does not work across them.
    """
    user, group = os.getuid(), os.getgid()
    _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWUTS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def drop_capabilities() -> None:
    """Empty every capability set, the bounding set too where that is allowed."""
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    _drop_bounding_set()
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _libc.syscall("capset", ctypes.addressof(header), ctypes.addressof(nothing))


def _drop_bounding_set() -> None:
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        try:
            _libc.prctl(_PR_CAPBSET_DROP, capability)
        except PermissionError:
            return  # an ordinary user without a namespace: no_new_privs makes the set idle


def die_with_parent(parent: int) -> None:
    """Be killed when the parent ends. Call it when credentials have changed for the last time."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none gets away."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
