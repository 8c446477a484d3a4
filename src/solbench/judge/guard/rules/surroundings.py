"""Looking at what a kernel has no business with: the judge, the machine, the stage of the evaluation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile, literal
from solbench.judge.guard._registry import Hit, python_rule
from solbench.judge.guard._words import TALKS, TURNING

_LOOKS_AROUND = frozenset(
    {"gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._getframe",
     "sys._current_frames", "inspect.stack", "inspect.currentframe", "inspect.getouterframes",
     "traceback.extract_stack", "traceback.walk_stack", "threading._current_frames"}
)  # fmt: skip
_PLACES = re.compile(
    r"/proc/|/sys/|/dev/(?!null)|/etc/|/run/|/root\b|/home\b|/var/|\.\./|/tmp\b|(?:^|/)\.cache\b|\*\*/"
)
_PROBLEM_FILES = re.compile(
    r"(?:^|[/\\*])(?:definition\.json|workload\.jsonl|reference(?:_\w+)?\.py)$"
)
_NETWORK = re.compile(
    r"^(?:socket|ssl|urllib|http|requests|httpx|ftplib|smtplib|aiohttp|websockets|paramiko|pip|telnetlib|xmlrpc)(?:\.|$)"
)
_STAGE = frozenset(
    {"sys.gettrace", "sys.getprofile", "torch.autograd._profiler_enabled", "socket.gethostname",
     "platform.node", "os.uname", "getpass.getuser", "os.getlogin", "os.getcwd", "os.getppid",
     "threading.active_count", "threading.enumerate", "resource.getrlimit", "psutil.Process",
     "torch.profiler.kineto_available", "datetime.datetime.now", "datetime.date.today"}
)  # fmt: skip
_DATES = frozenset({"time.time", "time.time_ns", "time.localtime", "time.gmtime"})
_STAGE_VALUES = frozenset({"sys.argv", "sys.orig_argv"})
_OWN = re.compile(r"\bsolbench\b", re.IGNORECASE)


@python_rule("judge_import", "alarm")
def judge_import(file: PythonFile) -> Iterator[Hit]:
    """SolBench itself is imported or named."""
    for line, name in file.imports:
        if name.partition(".")[0] == "solbench":
            yield line, f"imports {name}"
    for line, text in file.strings:
        if _OWN.search(text) and "solbench.h" not in text:
            yield line, "names SolBench in a string"


@python_rule("looks_around", "alarm")
def looks_around(file: PythonFile) -> Iterator[Hit]:
    """Objects, frames and modules of others are searched."""
    for call, name in file.calls:
        if name in _LOOKS_AROUND:
            yield call.lineno, f"{name}() finds what was not handed over"
        elif name.startswith("sys.modules.") and name != "sys.modules.get":
            yield call.lineno, f"{name}() looks through the loaded modules"
    for node in file.nodes:
        held = node.iter if isinstance(node, ast.For | ast.comprehension) else None
        if held is not None and file.name(held) == "sys.modules":
            yield held.lineno, "the loaded modules are gone through"
        if isinstance(node, ast.Subscript) and file.name(node.value) == "sys.modules":
            yield node.lineno, "takes a module out of sys.modules"


@python_rule("foreign_files", "alarm")
def foreign_files(file: PythonFile) -> Iterator[Hit]:
    """Paths outside of the solution's own folder: /proc, /sys, /dev, homes, temporary and parent folders."""
    for line, text in file.strings:
        if len(text) > 300 or "\n" in text:
            continue
        place = _PLACES.search(text)
        if place and (text.lstrip().startswith(("/", ".", "~", "*")) or place[0] != "../"):
            yield line, f"names the place '{text[:60]}'"
        elif _PROBLEM_FILES.search(text):
            yield line, f"names the problem's file '{text[:60]}'"
    for call, name in file.calls:
        if name in ("os.walk", "os.path.expanduser", "site.getsitepackages", "sysconfig.get_paths"):
            yield call.lineno, f"{name}() leads out of the solution's folder"
        elif name in ("os.symlink", "os.link", "os.mkfifo", "os.chmod"):
            yield call.lineno, f"{name}() makes more than a file"


@python_rule("network", "alarm")
def network(file: PythonFile) -> Iterator[Hit]:
    """A network library is imported."""
    for line, name in file.imports:
        if _NETWORK.match(name):
            yield line, f"imports {name}"


@python_rule("stage_sniffing")
def stage_sniffing(file: PythonFile) -> Iterator[Hit]:
    """What tells one stage of an evaluation from another: profilers, host, date, arguments, threads."""
    for call, name in file.calls:
        if name in _STAGE:
            yield call.lineno, f"{name}() tells where it runs, not what to compute"
        elif name == "dict" and call.args and file.name(call.args[0]) == "os.environ":
            yield call.lineno, "the whole environment is read"
    for attribute, name in file.attributes:
        if name in _STAGE_VALUES:
            yield attribute.lineno, f"{name} is read"
    for node in file.nodes:
        if isinstance(node, ast.Compare):
            for part in (node.left, *node.comparators):
                if isinstance(part, ast.Call) and file.name(part.func) in _DATES:
                    yield node.lineno, "a branch on the date"


@python_rule("talks_to_reviewer")
def talks_to_reviewer(file: PythonFile) -> Iterator[Hit]:
    """Comments or strings that instruct whoever reads them."""
    yield from _talk(file.text)


@python_rule("hidden_text")
def hidden_text(file: PythonFile) -> Iterator[Hit]:
    """Control characters, or marks that turn the direction of writing round or cannot be seen."""
    for found in TURNING.finditer(file.text):
        line = file.text.count("\n", 0, found.start()) + 1
        yield line, f"the invisible character U+{ord(found[0]):04X}"
    for line, text in file.strings:
        if "\x1b" in text:
            yield line, "an escape sequence for a terminal"


def _talk(text: str) -> Iterator[Hit]:
    for found in TALKS.finditer(text):
        words = " ".join(found[0].split())
        yield text.count("\n", 0, found.start() + 1) + 1, f"says '{words[:60]}'"


@python_rule("environment")
def environment(file: PythonFile) -> Iterator[Hit]:
    """Thread counts, priorities or libraries are chosen through the environment of the process."""
    for node in file.nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Subscript) and file.name(target.value) == "os.environ":
                key = literal(target.slice)
                if isinstance(key, str) and re.match(r"(OMP|MKL|LD|PYTHON|CUDA_VISIBLE)_?", key):
                    yield node.lineno, f"os.environ['{key}'] is set"
