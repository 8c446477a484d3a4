"""Languages that are Python packages: nothing to compile here, but the package has to be there."""

from __future__ import annotations

from functools import partial

from solbench.errors import BuildError
from solbench.jail.builders._contract import Builder
from solbench.jail.builders._packages import package_folder
from solbench.jail.builders.python import make_artifact
from solbench.jail.protocol import Artifact
from solbench.spec import Solution

_CPU_TOO = frozenset({"numba"})


def builder(language: str, module: str, distribution: str) -> Builder:
    """The builder of ``language``, which is used as ``module`` and installed as ``distribution``."""
    return partial(_build, language=language, module=module, distribution=distribution)


def _build(
    solution: Solution, device: str, *, language: str, module: str, distribution: str
) -> Artifact:
    if not device.startswith("cuda") and language not in _CPU_TOO:
        raise BuildError(f"{language} needs an NVIDIA GPU: use device cuda:0", "")
    package_folder(module, distribution, f"the language '{language}'")
    return make_artifact(solution, triton_interpreter=False)
