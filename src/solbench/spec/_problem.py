"""Problem: a definition with its workloads, as loaded from a folder in the public form."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from solbench.errors import InputError, SpecError
from solbench.spec._definition import Definition, TensorSpec
from solbench.spec._document import raise_errors
from solbench.spec._problem_files import DEFINITION_FILE, WORKLOAD_FILE, read_problem_files
from solbench.spec._shapes import axis_values, declared_shape
from solbench.spec._workload import Workload
from solbench.spec._writing import problem_digest

BLOBS_VARIABLE = "FLASHINFER_TRACE_DIR"


@dataclass(frozen=True)
class Problem:
    """What is to be computed, and at which sizes.

    >>> problem = solbench.load_problem("examples/rmsnorm")
    >>> dict(problem.workloads[0].axes)
    {'num_tokens': 1}
    """

    definition: Definition
    workloads: tuple[Workload, ...]
    folder: Path | None = None
    """Where it was loaded from; safetensors paths are relative to it."""
    digest: str = ""
    """SHA-256 of definition and workloads."""
    warnings: tuple[str, ...] = ()
    """What a careful reader should know; each names its place."""
    blob_roots: tuple[Path, ...] = ()
    """Further folders in which safetensors files are looked up."""

    @property
    def name(self) -> str:
        return self.definition.name

    def workload(self, uuid: str) -> Workload:
        """The workload of this uuid; ``InputError`` lists the known ones if there is none."""
        for workload in self.workloads:
            if workload.uuid == uuid:
                return workload
        known = ", ".join(workload.uuid for workload in self.workloads[:20])
        raise InputError(f"{self.name} has no workload '{uuid}'", remedy=f"Known: {known}.")

    def axis_values(self, workload: Workload) -> dict[str, int]:
        """Size of every axis, in declared order; ``AxisError`` names one that has none.

        A workload may override a const axis; an ``expr`` axis it may only repeat.
        """
        return axis_values(self.definition, workload)

    def input_shape(self, workload: Workload, name: str) -> tuple[int, ...] | None:
        """Declared shape with sizes filled in; ``None`` for a Python scalar."""
        return declared_shape(_named(self.definition.inputs, name), self.axis_values(workload))

    def output_shape(self, workload: Workload, name: str) -> tuple[int, ...] | None:
        """Declared shape with sizes filled in; ``None`` for a Python scalar."""
        return declared_shape(_named(self.definition.outputs, name), self.axis_values(workload))


def _named(tensors: dict[str, TensorSpec], name: str) -> TensorSpec:
    if name not in tensors:
        raise InputError(f"there is no tensor '{name}'", remedy=f"Known: {', '.join(tensors)}.")
    return tensors[name]


def make_problem(
    definition: Definition,
    workloads: Sequence[Workload],
    *,
    folder: Path | None = None,
    blob_roots: Sequence[Path | str] = (),
    warnings: Sequence[str] = (),
) -> Problem:
    """A problem from models at hand, digest included."""
    return Problem(
        definition=definition,
        workloads=tuple(workloads),
        folder=folder,
        digest=problem_digest(definition, tuple(workloads)),
        warnings=tuple(warnings),
        blob_roots=tuple(Path(root) for root in blob_roots),
    )


def environment_roots() -> tuple[Path, ...]:
    """The folder that ``FLASHINFER_TRACE_DIR`` names, if it is set."""
    variable = os.environ.get(BLOBS_VARIABLE)
    return (Path(variable),) if variable else ()


def load_problem(
    path: Path | str,
    blob_roots: Sequence[Path | str] = (),
    *,
    workload_file: str = WORKLOAD_FILE,
) -> Problem:
    """Load a problem folder, or the folder around a ``definition.json``.

    Tolerant of what public files hold (see ``Problem.warnings``), loud about what is wrong:
    ``SpecError``, or ``SpecErrors`` with every problem found. A workload that is well formed but
    cannot be run (an axis without a value) is only warned about, so that the others still can.

    >>> problem = solbench.load_problem("examples/rmsnorm")
    >>> problem.name, len(problem.workloads)
    ('rmsnorm', 5)
    """
    given = Path(path)
    definition_file = given / DEFINITION_FILE if _is_folder(given) else given
    _refuse_other_paths(given, definition_file)
    folder = definition_file.parent
    loaded = read_problem_files(definition_file, folder / workload_file)
    if loaded.errors or loaded.definition is None:
        raise_errors(loaded.errors)
    return make_problem(
        loaded.definition,
        loaded.workloads,
        folder=folder,
        blob_roots=(*blob_roots, *environment_roots()),
        warnings=[str(warning) for warning in loaded.warnings],
    )


def _refuse_other_paths(given: Path, definition_file: Path) -> None:
    """Say what the path is, where the lack of a definition file would say little."""
    try:
        exists, inside = given.exists(), definition_file.exists()
    except (OSError, ValueError):
        return  # reading the file says why
    if not exists:
        remedy = "Name a problem folder, or its definition.json."
        raise SpecError("no such file or folder", file=given, remedy=remedy)
    if not inside:
        found = sorted(each.parent.name for each in given.glob(f"*/{DEFINITION_FILE}"))
        named = ", ".join(found[:8]) or "A problem folder has one, and a workload.jsonl"
        remedy = f"Name one of the problem folders in it: {named}." if found else f"{named}."
        raise SpecError(
            f"is no problem folder: it has no {DEFINITION_FILE}", file=given, remedy=remedy
        )
    if definition_file.suffix == ".py":
        remedy = "Name a problem folder, or its definition.json; 'solbench bound' takes modules."
        raise SpecError("is a Python file, not a problem", file=given, remedy=remedy)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
