"""Bounds of many programs, each derived in a limited child process.

References are trusted code, but they may crash, exit, hang or take all memory. Then one line says so, with
the line of the reference, and the others go on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from solbench.bound._batch_pool import run_tasks
from solbench.bound._batch_task import Task
from solbench.bound._precision_result import PrecisionMode, admission_record
from solbench.bound._result import Bound
from solbench.errors import InputError, SolBenchError
from solbench.hardware import load_hardware
from solbench.spec import load_problem

DEFAULT_TIMEOUT_S = 180.0
DEFAULT_MEMORY_BYTES = 8 << 30
"""Address space that a child may take beyond what it has after importing torch."""
_RECORD_FIELDS = (
    "problem", "workload", "hardware", "clock_mhz", "t_sol_ms", "t_attainable_ms", "t_floor_ms",
    "binding", "matrix_flops", "dram_read_bytes", "dram_write_bytes", "complete", "unknown_ops",
    "capture", "verified", "verified_nodes", "total_nodes", "unverified", "precision",
    "assumptions", "seconds", "error", "admission",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A program on disk."""

    kind: str
    """``problem`` (a folder with ``definition.json``) or ``module`` (a python file)."""
    path: Path


def find_programs(path: Path | str) -> list[Found]:
    """Problem folders and ``Model`` modules at or below a path, in a stable order.

    A file that is named itself is taken as it is; below a folder only python files that define ``Model``
    and ``get_inputs`` count.

    Raises
    ------
    InputError
        There is nothing at the path, or no program below it.
    """
    root = Path(path)
    if root.is_file():
        if root.name == "definition.json":
            return [Found("problem", root.parent)]
        if root.suffix != ".py":
            raise InputError(
                "is no program",
                file=root,
                remedy="Name a problem folder, its definition.json, or a Python module.",
            )
        return [Found("module", root)]
    if not root.is_dir():
        raise InputError(
            "no such file or folder",
            file=root,
            remedy="Name a problem folder, a Python module, or suite:NAME.",
        )
    found = list(_below(root))
    if not found:
        raise InputError(
            "no problem folder and no module below",
            file=root,
            remedy="A problem has a definition.json; a module defines Model and get_inputs.",
        )
    return found


def _below(folder: Path) -> Iterator[Found]:
    if (folder / "definition.json").is_file():
        yield Found("problem", folder)
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _below(entry)
        elif entry.suffix == ".py" and _looks_like_module(entry):
            yield Found("module", entry)


def _looks_like_module(file: Path) -> bool:
    try:
        source = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "class Model" in source and "def get_inputs" in source


def bound_lines(
    paths: Sequence[Path | str],
    hardware: str = "h200",
    *,
    jobs: int | None = None,
    clock_mhz: float | None = None,
    verify: bool = False,
    precision: PrecisionMode = "auto",
    out: Path | None = None,
    blob_roots: Sequence[Path | str] = (),
    rules: Sequence[Path | str] = (),
    timeout_s: float = DEFAULT_TIMEOUT_S,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
) -> Iterator[Bound]:
    """One bound per workload of every program, in the order of ``paths``; without its ``demand``.

    ``jobs`` child processes work at a time (default: one a core). What ``out``, a JSONL file of
    earlier records, already has for this device and clock is skipped. ``precision``: as for
    ``derive_bound``. A program that fails, in whatever
    way, or takes longer than ``timeout_s``, gives a bound with ``error`` set. ``blob_roots``: as for
    ``load_problem``. ``rules``: folders for ``load_rules`` in every child.

    Raises
    ------
    InputError
        A path holds no program, or the device is not known; before anything is derived.
    """
    programs = [found for path in paths for found in find_programs(path)]
    # Raises for an unknown name, and measures ``cpu`` once instead of in every child.
    device = load_hardware(hardware)
    clock = device.clock_mhz(clock_mhz)
    done = _already_in(out, device.name, clock)
    roots = tuple(str(root) for root in blob_roots)
    own_rules = tuple(str(Path(folder).resolve()) for folder in rules)
    tasks = [
        replace(task, rules=own_rules)
        for found in programs
        for task in _tasks(found, hardware, clock, verify, roots, precision)
        if (task.problem, task.workload or "") not in done
    ]
    count = max(1, min(jobs or os.cpu_count() or 1, len(tasks)))
    return run_tasks(tasks, count, timeout_s, memory_bytes)


def _tasks(
    found: Found,
    hardware: str,
    clock_mhz: float,
    verify: bool,
    blob_roots: tuple[str, ...],
    precision: PrecisionMode,
) -> Iterator[Task]:
    path = str(found.path)
    if found.kind == "module":
        yield Task(path, None, path, hardware, clock_mhz, verify, blob_roots, precision)
        return
    try:
        problem = load_problem(found.path, blob_roots)
    except SolBenchError:
        # The child meets the same error and reports it as any other.
        yield Task(path, None, path, hardware, clock_mhz, verify, blob_roots, precision)
        return
    for workload in problem.workloads:
        yield Task(
            problem.name, workload.uuid, path, hardware, clock_mhz, verify, blob_roots, precision
        )


def _already_in(out: Path | None, hardware: str, clock_mhz: float) -> set[tuple[str, str]]:
    """(problem, workload) of the records that a file holds; a torn last line is ignored."""
    if out is None or not out.is_file():
        return set()
    done = set()
    for line in out.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(record, dict):
            continue
        same_clock = record.get("clock_mhz") in (None, clock_mhz)
        if record.get("hardware") == hardware and same_clock:
            done.add((str(record.get("problem")), str(record.get("workload"))))
    return done


def bound_record(bound: Bound) -> dict[str, Any]:
    """A bound as one line of JSON shows it: these keys are a contract."""
    record = {name: getattr(bound, name) for name in _RECORD_FIELDS}
    record["admission"] = None if bound.admission is None else admission_record(bound.admission)
    for name in ("unknown_ops", "assumptions", "unverified"):
        record[name] = list(record[name])
    return record
