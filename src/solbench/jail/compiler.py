"""The compiler's own process: raise the walls, then become the compiler.

It lies outside the builders, which know the exchanged models: to import those takes longer than many a build.
"""

from __future__ import annotations

import json
import os
import resource

from solbench.jail import walls

_MEMORY_BYTES = 16 << 30
"""A compiler's address space. Generous: large template libraries take several GiB."""


def main(launch: str, parent: str) -> None:
    """Never returns. ``launch`` is made by ``builders._compile``."""
    plan = json.loads(launch)
    allowed = walls.compiler_allow_list(
        sources=plan["sources"], scratch=plan["scratch"], toolchain=plan["toolchain"]
    )
    walls.raise_walls(allowed, keep=(0, 1, 2), memfd=True, parent=int(parent))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    os.execv(plan["command"][0], plan["command"])
