"""The two system call filters: *prepare*, raised before the submission loads, and *seal*.

How the judge can know from outside that the seal is ours. It sees only how many filters each thread has
(``/proc/<pid>/status``), and the submission shares a process with the code that seals. So the prepare
filter lets exactly one filter ever be added: the ``seccomp`` call must name the one address where the seal's
program lies, in a mapping of a write-sealed memfd at the bottom of the address space, and every call
that could replace that mapping is refused. One more filter on every thread then *is* the seal.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import struct

from solbench.jail.walls import _bpf, _libc, _syscalls
from solbench.jail.walls._bpf import Test

SEAL_ADDRESS = 0x20000
"""Above ``mmap_min_addr`` everywhere, below anything that a loader maps."""
_GUARDED_END = 0x30000

_SET_MODE_FILTER = 1
_FLAG_TSYNC = 1
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SCHED_CORE = 62  # keeps others, the judge and the reference, off the sibling of a core

_CLONE_THREAD = 0x10000
_CLONE_PARENT = 0x8000
_CLONE_NEW = 0x7E020000  # any new namespace
_SIGCONT = 18
_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET = 1, 1, 5
_MAP_FIXED, _MREMAP_FIXED = 0x10, 0x2
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY = 8, 10, 15, 1024, 1026
_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX = 0x8901, 0x8902, 0x5412, 0x541C

_DENIED = (
    # other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "kcmp", "rt_sigqueueinfo",
    "rt_tgsigqueueinfo", "move_pages", "migrate_pages", "setpriority", "ioprio_set",
    "sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity",
    # channels out; connect also reaches socket files, which Landlock does not guard
    "connect", "shmget", "shmat", "semget", "msgget", "mq_open", "keyctl", "add_key",
    "request_key", "inotify_init", "inotify_init1", "fanotify_init", "fanotify_mark",
    # the machine
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr",
    "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "unshare", "setns",
    "clock_settime", "clock_adjtime", "settimeofday", "adjtimex", "sethostname",
    "setdomainname", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd",
    "syslog", "vhangup", "init_module", "finit_module", "delete_module", "kexec_load",
    "kexec_file_load", "iopl", "ioperm", "modify_ldt", "name_to_handle_at",
    "open_by_handle_at",
    # large and rarely needed parts of the kernel
    "perf_event_open", "bpf", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "userfaultfd", "memfd_secret",
    # pages given to a pipe are nobody's memory any more, however large they are
    "vmsplice",
    # the kernel would go on reading and writing for a stopped worker
    "io_setup", "io_submit",
)  # fmt: skip

_PRETENDED = (
    # Landlock does not guard these, and the owner of a file needs no capability for them. Compilers
    # call them on their own outputs and would stumble over an error, so they succeed and do nothing.
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr",
    "fremovexattr", "removexattrat", "utime", "utimes", "futimesat", "utimensat",
    # Whatever a worker starts stays in its group of processes, which is stopped and ended at once.
    "setsid", "setpgid",
)  # fmt: skip

_NOT_PERMITTED = _bpf.answer(errno.EPERM)
_Cases = list[list[Test]]


def _block(name: str, cases: _Cases | None, action: int) -> list[_bpf.Instruction]:
    number = _syscalls.number(name)
    if number is None:
        return []
    if cases is None:
        return _bpf.always(number, action)
    return _bpf.whenever(number, cases, action)


def _conditional(self_pid: int) -> dict[str, _Cases]:
    """Calls that are refused only for some arguments."""
    return {
        # SIGCONT to oneself would undo the judge's freeze; so would a timer that sends it.
        "kill": [[Test(0, "!=", self_pid)], [Test(1, "==", _SIGCONT)]],
        "tkill": [[Test(0, "!=", self_pid)], [Test(1, "==", _SIGCONT)]],
        "tgkill": [[Test(0, "!=", self_pid)], [Test(2, "==", _SIGCONT)]],
        "timer_create": [[Test(1, "!=", 0)], [Test(1, "!=", 0, high=True)]],
        "prlimit64": [[Test(0, "!=", 0), Test(0, "!=", self_pid)]],
        "clone": [[Test(0, "!=", 0, mask=_CLONE_NEW)], [Test(0, "!=", 0, mask=_CLONE_PARENT)]],
        "socket": [
            [Test(0, "!=", _AF_UNIX)],
            [Test(1, "!=", _SOCK_STREAM, mask=0xF), Test(1, "!=", _SOCK_SEQPACKET, mask=0xF)],
        ],
        "fcntl": [
            [Test(1, "==", command)]
            for command in (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY)
        ],
        "ioctl": [
            [Test(1, "==", request)]
            for request in (_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX)
        ],
        "prctl": [
            [Test(0, "==", option)]
            for option in (_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SCHED_CORE)
        ],
        "seccomp": [
            [Test(0, "!=", _SET_MODE_FILTER)],
            [Test(1, "!=", _FLAG_TSYNC)],
            [Test(2, "!=", SEAL_ADDRESS)],
            [Test(2, "!=", 0, high=True)],
        ],
        **_seal_page_guards(),
    }  # fmt: skip


def _seal_page_guards() -> dict[str, _Cases]:
    """Ranges that start below the guard's end could replace the seal's page; none lies below it."""

    def low(argument: int) -> list[Test]:
        return [Test(argument, "==", 0, high=True), Test(argument, "<", _GUARDED_END)]

    fixed = Test(3, "!=", 0, mask=_MAP_FIXED)
    return {
        "mmap": [[*low(0), Test(0, "!=", 0)], [*low(0), fixed]],
        "munmap": [low(0)],
        "mprotect": [low(0)],
        "pkey_mprotect": [low(0)],
        "remap_file_pages": [low(0)],
        "mremap": [low(0), [*low(4), Test(3, "!=", 0, mask=_MREMAP_FIXED)]],
    }


def prepare_program(self_pid: int, *, memfd: bool) -> bytes:
    """The first filter: exec and fork pass; signals, sockets, other processes and the machine do not.

    ``memfd`` allows ``memfd_create`` until the seal.
    """
    blocks = [_block("clone3", None, _bpf.answer(errno.ENOSYS))]
    blocks += [
        _block(name, cases, _NOT_PERMITTED) for name, cases in _conditional(self_pid).items()
    ]
    denied = _DENIED if memfd else (*_DENIED, "memfd_create")
    blocks += [_block(name, None, _NOT_PERMITTED) for name in denied]
    blocks += [_block(name, None, _bpf.answer(0)) for name in _PRETENDED]
    return _bpf.program(_syscalls.AUDIT_ARCHITECTURE[_syscalls.machine()], blocks)


def seal_program() -> bytes:
    """The second filter: no new program, no new process, no anonymous file."""
    no_thread = [[Test(0, "==", 0, mask=_CLONE_THREAD)]]
    blocks = [_block("clone", no_thread, _NOT_PERMITTED)]
    for name in ("execve", "execveat", "fork", "vfork", "memfd_create", "seccomp"):
        blocks.append(_block(name, None, _NOT_PERMITTED))
    return _bpf.program(_syscalls.AUDIT_ARCHITECTURE[_syscalls.machine()], blocks)


def _fprog(code: bytes, address: int) -> bytes:
    """``struct sock_fprog`` followed by the program, for a copy at ``address``."""
    head = struct.pack("=HxxxxxxQ", len(code) // 8, address + 16)
    return head + code


def _place_seal() -> None:
    """Map the seal's program, immutable, at its address."""
    content = _fprog(seal_program(), SEAL_ADDRESS)
    fd = os.memfd_create("seal", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.write(fd, content.ljust(mmap.PAGESIZE, b"\0"))
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        flags = mmap.MAP_SHARED | _MAP_FIXED
        _libc.mmap(SEAL_ADDRESS, mmap.PAGESIZE, mmap.PROT_READ, flags, fd)
    finally:
        os.close(fd)


def _install(address: int) -> None:
    stuck = _libc.syscall("seccomp", _SET_MODE_FILTER, _FLAG_TSYNC, address)
    if stuck:
        raise OSError(errno.EBUSY, f"thread {stuck} has filters of its own")


def raise_prepare(*, memfd: bool) -> None:
    """Put the prepare filter on every thread of this process. Needs ``no_new_privs``."""
    _place_seal()
    code = prepare_program(os.getpid(), memfd=memfd)
    buffer = ctypes.create_string_buffer(16 + len(code))
    buffer.raw = _fprog(code, ctypes.addressof(buffer))
    _install(ctypes.addressof(buffer))


def raise_seal() -> None:
    """Put the seal on every thread of this process."""
    _install(SEAL_ADDRESS)
