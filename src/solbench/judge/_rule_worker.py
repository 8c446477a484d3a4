"""The process in which a suggested rule runs: import, raise the walls, then execute its text.

What it writes to stdout is a line about the walls, from before the text ran, and then what the rule made. Both
are data to its parent, which believes only the first.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
from pathlib import Path

import torch

from solbench.bound.suggest import lifted_documents
from solbench.jail import walls

_MEMORY_BYTES = 8 << 30
"""Address space beyond what torch has taken."""
_FILE_BYTES = 32 << 20
"""Of what it writes, its answer among it."""


def main(scratch: str, parent: str) -> None:
    """The text and the calls come on stdin, pickled by the parent."""
    text, calls = pickle.load(sys.stdin.buffer)
    torch.set_num_threads(1)
    lifted_documents("", calls)  # whatever is imported late is imported now
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    taken = pages * resource.getpagesize()
    allowed = walls.worker_allow_list(
        artifact=scratch, scratch=scratch, compilers=False, cuda=False
    )
    layers = walls.raise_walls(allowed, keep=(0, 1, 2), memfd=False, parent=int(parent))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_AS, (taken + _MEMORY_BYTES, taken + _MEMORY_BYTES))
    walls.raise_seal()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    out.write(json.dumps({"layers": layers}) + "\n")
    out.flush()
    out.write(json.dumps(lifted_documents(text, calls)) + "\n")
    out.flush()
