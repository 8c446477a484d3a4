"""What untrusted code tries from inside. Each attempt is also made outside, where it must succeed:
an attempt that never works would prove nothing."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from tests.jail.conftest import Jailed, Spawn, layout_of

from solbench.jail import Command

_PRELUDE = """
import ctypes, fcntl, mmap, os, resource, signal, socket, struct, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def syscall(*arguments):
    result = libc.syscall(*[ctypes.c_long(a) for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), "syscall")
    return result

def fork():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)

def read(path):
    with open(path, "rb") as file:
        return file.read(64)

def works(attempt):
    try:
        attempt()
        return 1.0
    except BaseException:
        return 0.0
"""

_X86 = os.uname().machine == "x86_64"

# name → Python expression; JUDGE, SECRET and PORT are filled in. The list is what both phases deny.
_ALWAYS_DENIED = {
    "read a problem's file": "read('SECRET')",
    "list its folder": "os.listdir(os.path.dirname('SECRET'))",
    "overwrite it": "open('SECRET', 'r+').close()",
    "truncate it": "os.truncate('SECRET', 6)",
    "read /etc/passwd": "read('/etc/passwd')",
    "list processes": "os.listdir('/proc')",
    "read the judge's environment": "read('/proc/JUDGE/environ')",
    "read the judge's memory map": "read('/proc/JUDGE/maps')",
    "open the judge's memory": "open('/proc/JUDGE/mem', 'rb').close()",
    "list the judge's descriptors": "os.listdir('/proc/JUDGE/fd')",
    "signal the judge": "os.kill(JUDGE, 0)",
    "wake oneself": "os.kill(os.getpid(), signal.SIGCONT)",
    "open a TCP socket": "socket.create_connection(('127.0.0.1', PORT), 2).close()",
    "open a UDP socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()",
    "open an IPv6 socket": "socket.socket(socket.AF_INET6).close()",
    "open a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()",
    "connect to a socket file": "socket.socket(socket.AF_UNIX).connect('SOCKET')",
    "send to a socket file": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 'DATAGRAM')",
    "change the judge's limits": "resource.prlimit(JUDGE, resource.RLIMIT_CORE)",
    "move the judge to other cores": "os.sched_setaffinity(JUDGE, os.sched_getaffinity(0))",
    "change one's own cores": "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "own a signal of a descriptor": "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, JUDGE)",
    "outlive the zygote": "libc.prctl(1, 0) and 1 / 0",
    "share memory by key": "syscall(SHMGET, 0, 4096, 0o1600)",
    "leave for other namespaces": "libc.unshare(0x10000000) and 1 / 0",
    "use a socket without a network": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()",
    "make an anonymous file": "os.close(os.memfd_create('hoard'))",
    "open the judge by its number": "os.close(os.pidfd_open(JUDGE))",
    "set a timer that wakes": (
        "syscall(TIMER_CREATE, 0, ctypes.addressof(ctypes.create_string_buffer("
        "struct.pack('=qii48x', 0, signal.SIGCONT, 0))), ctypes.addressof(ctypes.c_int()))"
    ),
}
_DENIED_AFTER_SEALING = {
    "fork": "fork()",
    "start a compiler": "subprocess.run(['g++', '--version'], capture_output=True, check=True)",
    "start by posix_spawn": "os.waitpid(os.posix_spawn('/usr/bin/g++', ['g++'], os.environ), 0)",
    "vfork and exec": "subprocess.run(['g++', '--version'], stdout=-3, check=True, close_fds=False)",
}
# Works outside only with luck or privileges, so it has no control.
_NO_CONTROL = {
    "leave for other namespaces", "open the judge by its number", "use a socket without a network",
    "share memory by key", "set a timer that wakes", "outlive the zygote", "make an anonymous file",
}  # fmt: skip
_ALLOWED = {
    "write in the scratch folder": "open(os.path.join(os.environ['HOME'], 'x'), 'w').close()",
    "use a temporary file": "__import__('tempfile').TemporaryFile().close()",
    "start a thread": "threading.Thread(target=int).start()",
    "import an installed package": "__import__('sympy')",
    "read /proc/self": "read('/proc/self/maps')",
    "signal oneself": "os.kill(os.getpid(), 0)",
    "make a pair of sockets": "[end.close() for end in socket.socketpair()]",
}


class Targets:
    """Things outside worth stealing."""

    def __init__(self, folder: Path) -> None:
        self.secret = folder / "definition.json"
        self.secret.write_text("secret")
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.bind(str(folder / "stream"))
        self.stream.listen()
        self.datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagram.bind(str(folder / "datagram"))
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.folder = folder

    def fill(self, expression: str) -> str:
        """Put this machine's names into an attempt."""
        names = {
            "JUDGE": str(os.getpid()),
            "SECRET": str(self.secret),
            "SOCKET": str(self.folder / "stream"),
            "DATAGRAM": str(self.folder / "datagram"),
            "PORT": str(self.tcp.getsockname()[1]),
            "SHMGET": "29" if _X86 else "194",
            "TIMER_CREATE": "222" if _X86 else "107",
        }
        for name, value in names.items():
            expression = expression.replace(name, value)
        return expression

    def close(self) -> None:
        for each in (self.stream, self.datagram, self.tcp):
            each.close()


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[Targets]:
    folder = tmp_path / "problem"
    folder.mkdir()
    made = Targets(folder)
    yield made
    made.close()


def _attempts(targets: Targets, attempts: dict[str, str]) -> str:
    lines = [f"    lambda: {targets.fill(attempt)}," for attempt in attempts.values()]
    return "\n".join([_PRELUDE, "ATTEMPTS = [", *lines, "]\n"])


def _solution(targets: Targets, attempts: dict[str, str]) -> str:
    return _attempts(targets, attempts) + textwrap.dedent("""
        import torch
        def run(x):
            return torch.tensor([works(attempt) for attempt in ATTEMPTS])
    """)


def _named(attempts: dict[str, str], results: list[float]) -> set[str]:
    """Those that worked."""
    return {name for name, result in zip(attempts, results, strict=True) if result}


def _try_inside(
    spawn: Spawn, targets: Targets, attempts: dict[str, str]
) -> tuple[set[str], set[str]]:
    """What worked in prepare, and what worked sealed."""
    layout = layout_of([("x", (1,), "float32")], [("out", (len(attempts),), "float32")])
    jailed = spawn(_solution(targets, attempts), layout=layout)
    reply = jailed.prepare()
    assert reply.ok, jailed.worker.log_tail()
    early = _named(attempts, jailed.output().tolist())
    assert jailed.do(Command.SEAL).ok
    jailed.output().fill_(1)
    assert jailed.run().ok, jailed.worker.log_tail()
    return early, _named(attempts, jailed.output().tolist())


def test_nothing_outside_is_reached_in_either_phase(
    spawn: Spawn, targets: Targets, needs_layers: Callable[..., None]
) -> None:
    needs_layers("landlock", "seccomp", "namespaces")
    assert _try_inside(spawn, targets, _ALWAYS_DENIED) == (set(), set())
    assert targets.secret.read_text() == "secret"


def test_processes_are_started_only_before_the_seal(
    spawn: Spawn, targets: Targets, needs_layers: Callable[..., None]
) -> None:
    needs_layers("landlock", "seccomp")
    early, late = _try_inside(spawn, targets, _DENIED_AFTER_SEALING)
    assert early == set(_DENIED_AFTER_SEALING)
    assert late == set()


def test_honest_things_work_in_both_phases(spawn: Spawn, targets: Targets) -> None:
    early, late = _try_inside(spawn, targets, _ALLOWED)
    assert early == late == set(_ALLOWED)


def test_the_same_attempts_succeed_outside(targets: Targets) -> None:
    attempts = {
        name: attempt
        for name, attempt in {**_ALWAYS_DENIED, **_DENIED_AFTER_SEALING}.items()
        if name not in _NO_CONTROL
    }
    program = _attempts(targets, attempts) + "print([works(attempt) for attempt in ATTEMPTS])\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    results = [float(word) for word in done.stdout.strip("[]\n").split(",")]
    assert _named(attempts, results) == set(attempts)


@pytest.mark.parametrize("program", ["/bin/sh -c true", "/usr/bin/env true", "HOME/copied"])
def test_only_compilers_and_the_interpreter_can_be_started_in_prepare(
    spawn: Spawn, needs_layers: Callable[..., None], program: str
) -> None:
    needs_layers("landlock")
    source = f"""
        import os, shutil, subprocess
        import torch
        def run(x):
            copied = os.path.join(os.environ["HOME"], "copied")
            with open(shutil.which("g++"), "rb") as file, open(copied, "wb") as copy:
                copy.write(file.read())
            os.fchmod(os.open(copied, os.O_RDONLY), 0o755)
            try:
                subprocess.run({program!r}.replace("HOME", os.environ["HOME"]).split())
            except PermissionError:
                return x * 0
            return x * 0 + 1
    """
    jailed = spawn(source)
    assert jailed.prepare().ok, jailed.worker.log_tail()
    assert torch.equal(jailed.output(), torch.zeros(8))


def test_a_file_outside_keeps_its_mode_times_and_attributes(spawn: Spawn, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("x")
    before = victim.stat()
    source = f"""
        import os
        def run(x):
            path = {str(victim)!r}
            for attempt in (
                lambda: os.chmod(path, 0o777),
                lambda: os.utime(path, (1, 1)),
                lambda: os.chown(path, os.getuid(), os.getgid()),
                lambda: os.setxattr(path, "user.mark", b"1"),
            ):
                attempt()
            return x
    """
    assert spawn(source).prepare().ok
    after = victim.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_mode, before.st_mtime_ns, before.st_ctime_ns,
    )  # fmt: skip
    assert os.listxattr(victim) == []


def test_solbench_and_its_checkout_cannot_be_read(
    spawn: Spawn, needs_layers: Callable[..., None]
) -> None:
    needs_layers("landlock")
    import solbench

    package = Path(solbench.__file__).resolve().parent
    wanted = [package / "errors.py", Path(__file__), *package.parents[1].glob("pyproject.toml")]
    source = f"""
        def run(x):
            for path in {[str(path) for path in wanted]!r}:
                try:
                    open(path)
                    return x * 0 + 1
                except PermissionError:
                    pass
            return x * 0
    """
    jailed = spawn(source)
    assert jailed.prepare().ok, jailed.worker.log_tail()
    assert torch.equal(jailed.output(), torch.zeros(8))


def test_another_workers_scratch_cannot_be_read(
    spawn: Spawn, needs_layers: Callable[..., None]
) -> None:
    needs_layers("landlock")
    first = spawn(
        "import os\nopen('note', 'w').write('hi')\nprint(os.getcwd())\ndef run(x):\n    return x\n"
    )
    assert first.prepare().ok
    note = Path(first.worker.log_tail().strip(), "note")
    assert note.read_text() == "hi"
    second = spawn(f"open({str(note)!r})\ndef run(x):\n    return x\n")
    assert not second.prepare().ok
    assert "PermissionError" in second.worker.log_tail()


def test_environment_and_arguments_tell_nothing(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOLBENCH_TEST_SECRET", "opensesame")
    jailed = spawn(
        """
        import os, sys
        print(open("/proc/self/environ").read(), dict(os.environ), sys.argv)
        def run(x):
            return x
        """
    )
    assert jailed.prepare().ok
    log = jailed.worker.log_tail()
    assert "TRITON_CACHE_DIR" in log
    assert "opensesame" not in log and str(Path.cwd()) + "/tests" not in log


def test_only_the_standard_streams_the_page_and_the_buffers_are_open(spawn: Spawn) -> None:
    jailed = spawn(
        """
        import os
        kinds = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
                 if os.path.exists(f"/proc/self/fd/{n}")]
        print(sorted(kind.split(":")[0] for kind in kinds))
        def run(x):
            return x
        """
    )
    assert jailed.prepare().ok
    names = eval(jailed.worker.log_tail())
    memory = [name for name in names if name.startswith("/memfd")]
    others = [name for name in names if not name.startswith("/memfd")]
    assert len(memory) == 2
    assert others == ["/dev/null", "pipe", "pipe"]


@pytest.mark.parametrize("told", [False, True])
def test_no_object_of_the_judge_is_in_the_workers_memory(spawn: Spawn, told: bool) -> None:
    """``told``: the scan finds a text that the worker was given, so it would find others."""
    secret = secrets.token_hex(12)  # no library can hold it by chance
    name = f"{secret}-1" if told else "x"
    kept = [f"{secret}-{number}" for number in range(3)]  # alive in this process, the judge
    jailed = spawn(
        f"""
        wanted = {secret[::-1]!r}
        import gc, sys
        found = []
        frame = sys._getframe()
        while frame:
            found += [repr(value)[:200] for value in list(frame.f_locals.values())]
            frame = frame.f_back
        for thing in gc.get_objects():
            if isinstance(thing, (list, tuple, dict)) and len(thing) < 50:
                try:
                    found.append(repr(thing)[:500])
                except Exception:
                    pass
        # Backwards, so that what is searched for does not find itself.
        maps = [line.split()[0].split("-") for line in open("/proc/self/maps") if " rw-p " in line]
        hits = sum(wanted in text[::-1] for text in found)
        with open("/proc/self/mem", "rb", 0) as memory:
            for low, high in maps:
                try:
                    memory.seek(int(low, 16))
                    hits += memory.read(int(high, 16) - int(low, 16))[::-1].count(wanted.encode())
                except OSError:
                    pass
        print("hits", hits > 0, "scanned", len(found) > 100 and len(maps) > 10)
        def run(x):
            return x
        """,
        layout=layout_of([(name, (8,), "float32")], [("out", (8,), "float32")]),
    )
    assert jailed.prepare().ok, jailed.worker.log_tail()
    assert len(kept) == 3
    assert jailed.worker.log_tail().strip() == f"hits {told} scanned True"


def test_the_seal_cannot_be_forged(spawn: Spawn, needs_layers: Callable[..., None]) -> None:
    """Filters of one's own, or a replaced seal, would make an unsealed worker look sealed."""
    needs_layers("seccomp")
    seccomp, mmap, munmap, mremap, mprotect = (
        (317, 9, 11, 25, 10) if _X86 else (277, 222, 215, 216, 226)
    )
    page = 0x20000
    jailed = spawn(
        _PRELUDE
        + f"""
code = struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", 1, ctypes.addressof(buffer)))
tries = {{
    "own filter": lambda: syscall({seccomp}, 1, 1, ctypes.addressof(program)),
    "no tsync": lambda: syscall({seccomp}, 1, 0, {page}),
    "prctl": lambda: libc.prctl(22, 2, program) and 1 / 0,
    "map over": lambda: syscall({mmap}, {page}, 4096, 3, 0x32, -1, 0),
    "map below": lambda: syscall({mmap}, {page} - 0x10000, 0x20000, 3, 0x32, -1, 0),
    "unmap": lambda: syscall({munmap}, {page}, 4096),
    "unmap all": lambda: syscall({munmap}, 0, 1 << 46),
    "move away": lambda: syscall({mremap}, {page}, 4096, 4096, 3, 0x700000000000),
    "move onto": lambda: syscall({mremap}, spare, 4096, 4096, 3, {page}),
    "make writable": lambda: syscall({mprotect}, {page}, 4096, 3),
}}
spare = syscall({mmap}, 0, 4096, 3, 0x22, -1, 0)
print(sorted(name for name, attempt in tries.items() if works(attempt)))
def run(x):
    return x
"""
    )
    assert jailed.prepare().ok, jailed.worker.log_tail()
    assert jailed.worker.log_tail().strip() == "[]"
    assert not jailed.worker.walls().sealed
    assert jailed.do(Command.SEAL).ok
    assert jailed.worker.walls().sealed


def test_a_shim_that_was_talked_out_of_sealing_is_seen_from_outside(
    spawn: Spawn, needs_layers: Callable[..., None]
) -> None:
    needs_layers("seccomp")
    jailed = spawn(
        """
        import sys
        sys.modules["solbench.jail.worker"].raise_seal = lambda: None
        def run(x):
            return x
        """
    )
    assert jailed.prepare().ok
    reply = jailed.do(Command.SEAL)
    assert reply.kind == "died"
    assert "claimed to be sealed" in reply.detail
    assert jailed.run() == reply


def test_a_sealed_worker_has_every_wall(spawn: Spawn, layers: dict[str, str]) -> None:
    jailed = spawn("def run(x):\n    return x\n")
    assert jailed.seal().ok
    walls = jailed.worker.walls()
    assert walls.layers == layers
    if not any(layers.values()):
        assert walls.complete


def test_a_thread_of_the_submission_is_behind_the_seal_too(
    spawn: Spawn, needs_layers: Callable[..., None]
) -> None:
    needs_layers("seccomp")
    jailed = spawn(
        """
        import os, threading, time
        tries = []
        def loop():
            while True:
                try:
                    pid = os.fork()
                    if not pid:
                        os._exit(0)
                    os.waitpid(pid, 0)
                    tries.append(1)
                except OSError:
                    tries.append(0)
                time.sleep(0.005)
        threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.1)
        def run(x):
            tries.clear()
            while len(tries) < 3:
                time.sleep(0.005)
            return x * 0 + sum(tries[-3:])
        """
    )
    assert jailed.prepare().ok
    assert torch.equal(jailed.output(), torch.full((8,), 3.0))
    assert jailed.do(Command.SEAL).ok
    assert jailed.worker.walls().sealed
    assert jailed.run().ok
    assert torch.equal(jailed.output(), torch.zeros(8))


def test_a_daemon_made_in_prepare_is_gone_when_sealed(spawn: Spawn) -> None:
    jailed: Jailed = spawn(
        """
        import os, time
        heard, say = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            os.write(say, str(os.getpid()).encode())
            while True:
                time.sleep(0.01)
        print("daemon", os.read(heard, 20).decode())
        def run(x):
            return x
        """
    )
    assert jailed.prepare().ok
    daemon = int(jailed.worker.log_tail().split()[1])
    assert Path(f"/proc/{daemon}").exists()
    assert "descendants" in jailed.worker.walls().layers
    assert jailed.do(Command.SEAL).ok
    assert _ended(daemon)
    assert "descendants" not in jailed.worker.walls().layers


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_compiler_after_sealing_is_named_as_the_reason(
    spawn: Spawn, needs_layers: Callable[..., None]
) -> None:
    needs_layers("seccomp")
    from solbench.jail import Status

    jailed = spawn(
        """
        import subprocess
        calls = []
        def run(x):
            calls.append(1)
            if len(calls) > 1:
                try:
                    subprocess.run(["g++", "--version"], check=True)
                except OSError as error:
                    raise RuntimeError("cannot compile") from error
            return x
        """
    )
    assert jailed.seal().ok
    assert jailed.run().status == Status.COMPILE_AFTER_SEAL
    assert "setup()" in jailed.worker.log_tail()
