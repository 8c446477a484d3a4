"""Other devices, their memory, and their timers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from solbench.judge.guard._python import PythonFile, literal
from solbench.judge.guard._registry import Hit, python_rule

_OTHER = re.compile(r"cuda:[1-9]\d*")


@python_rule("other_device")
def other_device(file: PythonFile) -> Iterator[Hit]:
    """Work is sent to a device that was not asked for."""
    for line, text in file.strings:
        if _OTHER.fullmatch(text):
            yield line, f"names {text}"
    for call, name in file.calls:
        number = literal(call.args[0]) if call.args else ...
        if name == "torch.cuda.device_count":
            yield call.lineno, "the devices are counted"
        elif name in ("torch.cuda.set_device", "torch.cuda.device") and number not in (0, ...):
            yield call.lineno, f"{name}({number!r})"


@python_rule("memory_hoarding")
def memory_hoarding(file: PythonFile) -> Iterator[Hit]:
    """Memory is taken by how much there is, not by how much is needed."""
    for call, name in file.calls:
        if name in (
            "torch.cuda.mem_get_info",
            "torch.cuda.memory.mem_get_info",
            "psutil.virtual_memory",
        ):
            yield call.lineno, f"{name}() asks how much there is"


@python_rule("reads_clock", "note")
def reads_clock(file: PythonFile) -> Iterator[Hit]:
    """A clock is read within the entry function."""
    entry = file.inside(file.subject.solution.spec.entry_function) if file.entry else frozenset()
    for call, name in file.calls:
        clock = name.startswith(("time.perf_counter", "time.monotonic", "time.time"))
        if id(call) in entry and clock:
            yield call.lineno, f"{name}()"
