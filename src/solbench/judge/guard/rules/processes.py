"""Other processes, descriptors, raw memory and the machine's settings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile, literal
from solbench.judge.guard._registry import Hit, python_rule

_PROCESS = frozenset(
    {"os.fork", "os.forkpty", "os.setsid", "os.kill", "os.killpg", "os._exit", "os.abort",
     "os.system", "os.popen", "os.posix_spawn", "os.pidfd_open", "os.waitpid", "pty.fork",
     "pty.spawn", "signal.pthread_kill", "multiprocessing.Process", "torch.multiprocessing.Process",
     "torch.multiprocessing.spawn", "concurrent.futures.ProcessPoolExecutor",
     "multiprocessing.Pool"}
)  # fmt: skip
_EXEC = re.compile(r"os\.(?:exec|spawn)\w+")
_DESCRIPTORS = frozenset(
    {"os.dup", "os.dup2", "os.closerange", "os.write", "os.pwrite", "os.ftruncate", "os.readlink",
     "os.posix_fallocate", "os.sendfile", "os.open", "os.listdir", "os.scandir"}
)  # fmt: skip
_COMPILERS = frozenset({"g++", "gcc", "c++", "cc", "clang", "clang++", "nvcc", "ptxas"})
_MACHINE = frozenset(
    {"os.nice", "os.setpriority", "os.sched_setaffinity", "os.sched_setscheduler",
     "os.sched_setparam", "resource.setrlimit", "sys.setrecursionlimit", "sys.setswitchinterval",
     "threading.stack_size", "faulthandler.dump_traceback_later"}
)  # fmt: skip
_LOADERS = frozenset({"ctypes.CDLL", "ctypes.PyDLL", "ctypes.cdll.LoadLibrary", "ctypes.WinDLL"})
_RAW = re.compile(r"ctypes\.(?:pythonapi|string_at|memset|addressof|c_\w+\.from_address|cast$)")
_TIMERS = frozenset({"signal.setitimer", "signal.alarm", "threading.Timer", "signal.sigtimedwait"})


@python_rule("other_process", "alarm")
def other_process(file: PythonFile) -> Iterator[Hit]:
    """Processes are made, signalled, or ended; a compiler that setup runs is not meant."""
    for call, name in file.calls:
        if name in _PROCESS or _EXEC.fullmatch(name):
            yield call.lineno, f"{name}()"
        elif name.startswith("subprocess.") and not _runs_compiler(file, call):
            yield call.lineno, f"{name}() of something that is no compiler"


def _runs_compiler(file: PythonFile, call: ast.Call) -> bool:
    """A name stands for what it is assigned in this file, all of which must be compilers."""
    command = call.args[0] if call.args else None
    if not isinstance(command, ast.Name):
        return _is_compiler(command)
    assigned = [
        node.value
        for node in file.all(ast.Assign)
        if isinstance(node, ast.Assign)
        and any(isinstance(each, ast.Name) and each.id == command.id for each in node.targets)
    ]
    return bool(assigned) and all(map(_is_compiler, assigned))


def _is_compiler(command: ast.expr | None) -> bool:
    if isinstance(command, ast.List | ast.Tuple) and command.elts:
        command = command.elts[0]
    program = literal(command)
    return isinstance(program, str) and program.rpartition("/")[2].split(" ")[0] in _COMPILERS


@python_rule("descriptors", "alarm")
def descriptors(file: PythonFile) -> Iterator[Hit]:
    """Open descriptors are gone through, replaced, closed or written to."""
    for call, name in file.calls:
        if name in _DESCRIPTORS:
            yield call.lineno, f"{name}()"


@python_rule("raw_memory", "alarm")
def raw_memory(file: PythonFile) -> Iterator[Hit]:
    """The C library, the interpreter's insides, or memory by its address."""
    for call, name in file.calls:
        library = literal(call.args[0]) if call.args else ...
        if name in _LOADERS and (library is None or _is_system(library)):
            yield call.lineno, f"{name}({library!r}) opens a system library"
        elif name == "ctypes.util.find_library" or _RAW.match(name):
            yield call.lineno, f"{name}()"
        elif name.endswith(".from_address"):
            yield call.lineno, "memory is taken by its address"
    for line, text in file.strings:
        if re.fullmatch(r"lib(?:c|cupti|dl|pthread|cuda|nvidia-ml)\.so[.\d]*", text):
            yield line, f"names {text}"
    for node in file.nodes:
        named = isinstance(node, ast.Attribute) and node.attr == "__cuda_array_interface__"
        if named and isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, "memory of the device is taken by its address"


def _is_system(library: object) -> bool:
    return isinstance(library, str) and bool(
        re.match(r"lib(?:c|cupti|dl|pthread|cuda|nvidia-ml)\b", library)
    )


@python_rule("machine_settings")
def machine_settings(file: PythonFile) -> Iterator[Hit]:
    """Priorities, affinities and limits of the process or the machine."""
    for call, name in file.calls:
        if name in _MACHINE:
            yield call.lineno, f"{name}()"
    for line, name in file.imports:
        if name.partition(".")[0] in ("pynvml", "nvidia_smi", "cupti", "mmap"):
            yield line, f"imports {name}"


@python_rule("late_timers")
def late_timers(file: PythonFile) -> Iterator[Hit]:
    """Code that a timer calls after the call has returned."""
    for call, name in file.calls:
        if name in _TIMERS:
            yield call.lineno, f"{name}() runs code later"
