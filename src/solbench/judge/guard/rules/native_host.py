"""C++ on the host: processes, loaders, threads, clocks and things kept between calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from solbench.judge.guard._native import NativeFile
from solbench.judge.guard._registry import Hit, native_rule
from solbench.judge.guard._words import TALKS, TURNING

_PROCESS = (
    "fork", "vfork", "clone", "ptrace", "process_vm_readv", "process_vm_writev", "kill", "tgkill",
    "execv", "execve", "execvp", "execl", "execlp", "posix_spawn", "system", "popen", "setsid",
    "_exit", "socket", "connect", "syscall", "setitimer", "timer_create", "alarm",
)  # fmt: skip
_LOADER = (
    "dlopen", "dlsym", "dlvsym", "dl_iterate_phdr", "mprotect", "mremap", "atexit", "shm_open",
    "shmget", "memfd_create", "sched_setaffinity", "setpriority", "pthread_setaffinity_np",
)  # fmt: skip
_CLOCKS = (
    r"clock_gettime|gettimeofday|clock|time|cudaEventElapsedTime|cudaEventRecord|cuEventElapsedTime"
)
_CONSTRUCTOR = re.compile(r"__attribute__\s*\(\(\s*(?:constructor|destructor)|\.init_array|\.ctors")
_DEFINES_CLOCK = re.compile(rf"\b(?:{_CLOCKS})\s*\([^;{{}}()]*\)\s*(?:noexcept\s*)?\{{")
_KEPT = re.compile(
    r"\bstatic\s+(?:thread_local\s+)?(?:std::)?(?:unordered_map|map|vector)\s*<[^;={}]{0,400}>\s*\w+"
)
_COUNTS = re.compile(
    r"\bstatic\s+(?:volatile\s+)?(?:int|long|unsigned|size_t|int64_t)\s+(?P<name>\w+)"
)
_BRANCHES = re.compile(r"(?:\+\+\s*+(\w++)|\b(\w++)\s*+\+\+)\s*+(?:[<>]=?|==|%)\s*+\d")


@native_rule("native_process", "alarm")
def native_process(file: NativeFile) -> Iterator[Hit]:
    """Processes are made, traced, signalled or ended; sockets; timers."""
    for line, name in file.calls(*_PROCESS):
        yield line, f"{name}()"


@native_rule("native_loader", "alarm")
def native_loader(file: NativeFile) -> Iterator[Hit]:
    """Symbols are looked up at run time, code is made writable, or something runs when the library loads."""
    for line, name in file.calls(*_LOADER):
        yield line, f"{name}()"
    for found in _CONSTRUCTOR.finditer(file.code):
        yield file.line(found.start()), "code that runs when the library is loaded"
    for line, text in file.literals:
        if re.search(r"/proc/|/sys/|/dev/|LD_PRELOAD|memfd:", text):
            yield line, f"names the place {text[:60]}"


@native_rule("native_clock", "alarm")
def native_clock(file: NativeFile) -> Iterator[Hit]:
    """A function with the name of a clock is defined."""
    for found in _DEFINES_CLOCK.finditer(file.code):
        yield file.line(found.start()), f"defines {found[0].partition('(')[0].strip()}"


@native_rule("native_thread")
def native_thread(file: NativeFile) -> Iterator[Hit]:
    """A thread is detached or never joined."""
    for found in re.finditer(r"\.\s*detach\s*\(", file.code):
        yield file.line(found.start()), "a thread is detached"
    if re.search(r"\bjoin\s*\(|pthread_join|\bjthread\b", file.code):
        return
    for line, name in file.words("pthread_create", "std::thread", "std::async"):
        yield line, f"{name} without a join"


@native_rule("native_includes", "alarm")
def native_includes(file: NativeFile) -> Iterator[Hit]:
    """Other files are put in by the assembler, or by their absolute path."""
    for line, text in file.literals:
        if re.search(r"\.incbin|\.include\b", text):
            yield line, "the assembler puts a file in"
    for found in re.finditer(r'#\s*include\s*["<](?:/|\.\./)', file.text):
        yield file.line(found.start()), "a file is included from elsewhere"


@native_rule("native_store")
def native_store(file: NativeFile) -> Iterator[Hit]:
    """A container of numbers that outlives the call."""
    for found in _KEPT.finditer(file.code):
        if re.search(r"float|double|half|void\s*\*|bfloat16|int", found[0]):
            yield file.line(found.start()), f"'{found[0].split()[-1]}' outlives the call"


@native_rule("native_counter")
def native_counter(file: NativeFile) -> Iterator[Hit]:
    """Calls are counted, and a branch depends on how many there were."""
    branches = {found[1] or found[2] for found in _BRANCHES.finditer(file.code)}
    for found in _COUNTS.finditer(file.code):
        if found["name"] in branches:
            yield file.line(found.start()), f"a branch on '{found['name']}', which counts calls"


@native_rule("native_hidden")
def native_hidden(file: NativeFile) -> Iterator[Hit]:
    """Words that instruct whoever reads them, or marks that cannot be seen."""
    for pattern, what in ((TALKS, "instructs a reader"), (TURNING, "an invisible character")):
        for found in pattern.finditer(file.text):
            yield file.line(found.start()), what
