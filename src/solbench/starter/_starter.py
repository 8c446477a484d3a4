"""The start in one language: which text, and what the solution's file says about it."""

from __future__ import annotations

from typing import cast, get_args

from solbench.errors import InputError
from solbench.spec import (
    NATIVE_LANGUAGES,
    Binding,
    Definition,
    Language,
    Solution,
    SolutionSpec,
    SourceFile,
)
from solbench.starter import _native, _python
from solbench.starter._parameters import parameters_of

LANGUAGES: tuple[str, ...] = get_args(Language)
BINDINGS: tuple[str, ...] = ("c", "tvm_ffi", "torch")
"""Of compiled languages; the first builds in seconds."""

_PYTHON: dict[str, _native.Text] = {
    "pytorch": _python.pytorch,
    "triton": _python.triton,
    "numba": _python.numba,
    "cute_dsl": _python.cute_dsl,
    "cutile": _python.cutile,
    "cudnn_frontend": _python.cudnn_frontend,
}
_HEADERS = {
    "cuda_cpp": "",
    "cutlass": "cutlass/cutlass.h",
    "cublas": "cublas_v2.h",
    "cudnn": "cudnn.h",
}


def starting_solution(
    definition: Definition, language: str = "pytorch", binding: str | None = None
) -> Solution:
    """A solution with the right signature that builds, runs, and gives zeros.

    ``binding``: of compiled languages, ``c`` by default. Raises ``InputError`` for unknown names.
    """
    text = _text(language, binding)
    files = text(parameters_of(definition))
    entry = next(iter(files))
    native = language in NATIVE_LANGUAGES
    return Solution(
        name=f"{definition.name}_{language}",
        definition=definition.name,
        author="me",
        spec=SolutionSpec(
            languages=(cast(Language, language),),
            target_hardware=("LOCAL",),
            entry_point=f"{entry}::run",
            destination_passing_style=True,
            binding=cast(Binding, binding or "c") if native else None,
        ),
        sources=tuple(SourceFile(path=path, content=content) for path, content in files.items()),
    )


def _text(language: str, binding: str | None) -> _native.Text:
    if language not in LANGUAGES:
        raise InputError(
            f"there is no language '{language}'",
            key="--language",
            remedy=f"Known: {', '.join(LANGUAGES)}.",
        )
    if binding is not None and binding not in BINDINGS:
        known = ", ".join(BINDINGS)
        raise InputError(
            f"there is no binding '{binding}'", key="--binding", remedy=f"Known: {known}."
        )
    if language in _PYTHON:
        if binding is not None:
            raise InputError(
                f"{language} is Python and has no binding", key="--binding", remedy="Leave it out."
            )
        return _PYTHON[language]
    if language == "cpp":
        return _native.cpp(binding or "c")
    return _native.cuda(binding or "c", _HEADERS[language])
