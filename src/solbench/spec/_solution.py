"""Solution: the submitted program and how to build and call it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field, model_validator

from solbench.spec._definition import _Exchanged
from solbench.spec._field_problems import FieldProblem, Name, refuse_if

Language = Literal[
    "pytorch", "triton", "cute_dsl", "cutile", "cudnn_frontend",
    "cuda_cpp", "cutlass", "cudnn", "cublas",
    "cpp", "numba",
]  # fmt: skip
Binding = Literal["torch", "tvm_ffi", "c"]

PYTHON_LANGUAGES = frozenset({"pytorch", "triton", "cute_dsl", "cutile", "cudnn_frontend", "numba"})
"""Their entry point is a Python function."""
NATIVE_LANGUAGES = frozenset({"cuda_cpp", "cutlass", "cudnn", "cublas", "cpp"})
"""They are compiled; ``binding`` says how the entry point is called."""

_ENTRY_POINT = re.compile(r"(?P<file>.+?)::(?P<function>[A-Za-z_][A-Za-z0-9_]*)")
_LONGEST_NAME = 255
_LONGEST_PATH = 1024
"""Bytes of a file name and characters of a path that file systems take."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class SourceFile(_Exchanged):
    path: str
    """Relative, without ``..``; unique within the solution."""
    content: str


class CompileOptions(_Exchanged):
    """Absent from a solution: no default flags at all. ``{}``: these defaults."""

    cflags: tuple[str, ...] = ()
    cuda_cflags: tuple[str, ...] = ("-O3", "--use_fast_math")
    ld_flags: tuple[str, ...] = ("-lcuda",)


class SolutionSpec(_Exchanged):
    languages: tuple[Language, ...] = Field(min_length=1)
    target_hardware: tuple[str, ...] = Field(min_length=1)
    """Any case: ``B200``, ``local``."""
    entry_point: str
    """``file::function``."""
    destination_passing_style: bool = True
    """Inputs then outputs are passed and nothing is returned."""
    binding: Binding | None = None
    """Counts for native languages only."""
    dependencies: tuple[str, ...] = ()
    compile_options: CompileOptions | None = None

    @property
    def entry_file(self) -> str:
        return self.entry_point.partition("::")[0]

    @property
    def entry_function(self) -> str:
        return self.entry_point.partition("::")[2]

    @property
    def native(self) -> bool:
        """Compiled languages; the others are Python. The two groups never mix."""
        return self.languages[0] in NATIVE_LANGUAGES

    @model_validator(mode="after")
    def _rules(self) -> SolutionSpec:
        refuse_if([*self._language_problems(), *self._entry_problems()])
        return self

    def _language_problems(self) -> Iterator[FieldProblem]:
        native = sorted(NATIVE_LANGUAGES.intersection(self.languages))
        python = sorted(PYTHON_LANGUAGES.intersection(self.languages))
        if native and python:
            yield FieldProblem(
                f"Python languages ({', '.join(python)}) and native ones ({', '.join(native)}) do not mix",
                ("languages",),
                "Keep one group.",
            )

    def _entry_problems(self) -> Iterator[FieldProblem]:
        if not _ENTRY_POINT.fullmatch(self.entry_point):
            yield FieldProblem(
                f"'{self.entry_point}' is not of the form file::function",
                ("entry_point",),
                "Write for example 'kernel.py::run'.",
            )


class Solution(_Exchanged):
    """A submitted program, as one JSON file holds it."""

    name: Name
    definition: Name
    author: str
    spec: SolutionSpec
    sources: tuple[SourceFile, ...] = Field(min_length=1)
    description: str | None = None

    @model_validator(mode="after")
    def _rules(self) -> Solution:
        paths = [source.path for source in self.sources]
        problems = list(_path_problems(paths))
        if self.spec.entry_file not in paths:
            problems.append(
                FieldProblem(
                    f"the entry file '{self.spec.entry_file}' is not among the sources",
                    ("spec", "entry_point"),
                    f"The sources are: {', '.join(paths)}.",
                )
            )
        refuse_if(problems)
        return self

    def source(self, path: str) -> str:
        """Content of the source file of this path; ``KeyError`` if there is none."""
        for source in self.sources:
            if source.path == path:
                return source.content
        raise KeyError(path)


def shortened(text: str) -> str:
    """Fit to stand in a message."""
    return text if len(text) <= 80 else f"{text[:80]}…"


def path_problem(path: str) -> str | None:
    """Why ``path`` cannot be a source's path; ``None`` if it can."""
    parts = path.split("/")
    if not path or _CONTROL.search(path):
        return "is empty or holds control characters"
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", path):
        return "is not a relative path with forward slashes"
    if len(path) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        return "is too long for a file system"
    if ".." in parts:
        return "leaves its folder with '..'"
    if "" in parts or "." in parts:
        return "has an empty or '.' part"
    return None


def _path_problems(paths: Sequence[str]) -> Iterator[FieldProblem]:
    # Sets: looked for one by one, tens of thousands of sources would take hours.
    folders = {folder for path in paths for folder in _folders(path)}
    seen: set[str] = set()
    for index, path in enumerate(paths):
        key = ("sources", index, "path")
        if reason := path_problem(path):
            yield FieldProblem(
                f"'{shortened(path)}' {reason}", key, "Use a path such as 'src/kernel.py'."
            )
        elif path in seen:
            yield FieldProblem(f"'{path}' stands twice", key, "Each source has its own path.")
        elif path in folders:
            yield FieldProblem(f"'{path}' is both a file and a folder", key, "Rename one.")
        seen.add(path)


def _folders(path: str) -> Iterator[str]:
    """Those that a path leads through; none for one that is too long anyway."""
    parts = path[: _LONGEST_PATH + 1].split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))
