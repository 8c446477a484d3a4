"""Which layers of the jail this machine has."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from solbench.errors import JailError
from solbench.jail._client import clean_environment, import_path

_TIMEOUT_S = 60.0
_BOOTSTRAP = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from solbench.jail import walls; "
    "stand = walls.raise_walls(walls.AllowList(), keep=(0, 1, 2), memfd=False, parent=int(sys.argv[2])); "
    "print(json.dumps(stand))"
)


def available_layers() -> dict[str, str]:
    """Layer → ``""``, or why it cannot stand here. Tried out in a process of its own."""
    arguments = [json.dumps(import_path()), str(os.getpid())]
    tried = subprocess.run(
        [sys.executable, "-I", "-B", "-c", _BOOTSTRAP, *arguments],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
        env=clean_environment(),
    )
    if tried.returncode:
        raise JailError(f"the walls cannot be tried out: {tried.stderr.strip()[-500:]}")
    layers: dict[str, str] = json.loads(tried.stdout)
    return layers
