"""From a solution's sources to an artifact that a worker can load.

A language is one file here with one function, a ``Builder``, and one line in ``_BUILDERS``; how compiled code
is entered is a ``binding_*.py``.
"""

from __future__ import annotations

from solbench.errors import BuildError
from solbench.jail.builders import cpp, cublas, cuda_cpp, cudnn, cutlass, packaged, python, triton
from solbench.jail.builders._cache import cache_root
from solbench.jail.builders._contract import Builder
from solbench.jail.protocol import Artifact
from solbench.spec import Solution

__all__ = ["Builder", "build_solution", "cache_root"]

_BUILDERS: dict[str, Builder] = {
    "pytorch": python.build,
    "numba": packaged.builder("numba", "numba", "numba"),
    "cute_dsl": packaged.builder("cute_dsl", "cutlass", "nvidia-cutlass-dsl"),
    "cutile": packaged.builder("cutile", "cuda.tile", "cuda-tile[tileiras]"),
    "cudnn_frontend": packaged.builder("cudnn_frontend", "cudnn", "nvidia-cudnn-frontend"),
    "triton": triton.build,
    "cpp": cpp.build,
    "cuda_cpp": cuda_cpp.build,
    "cutlass": cutlass.build,
    "cudnn": cudnn.build,
    "cublas": cublas.build,
}

_PREFERENCE = ("cutlass", "cudnn", "cublas", "cuda_cpp", "cpp", "triton")
"""Of several languages, the one whose builder does what the others need as well."""


def build_solution(solution: Solution, device: str) -> Artifact:
    """Build for ``device`` (``cpu``, ``cuda:0``), or find what was built before.

    Raises ``BuildError`` when the submission cannot be built.
    """
    languages = solution.spec.languages
    chosen = next((name for name in _PREFERENCE if name in languages), languages[0])
    builder = _BUILDERS.get(chosen)
    if builder is None:
        known = ", ".join(sorted(_BUILDERS))
        raise BuildError(f"no builder for the language '{chosen}'; there are: {known}", "")
    return builder(solution, device)
