"""What was tried before: trials of an instance under a gate, in the cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from solbench.bound._precision_gates import Gate
from solbench.bound._precision_result import Trial
from solbench.bound.graph import Graph
from solbench.spec import Problem, Workload, definition_digest, workload_digest

_SOURCES = (
    "attention",
    "formats",
    "gates",
    "instance",
    "part",
    "search",
    "sites",
    "trials",
    "ways",
)
"""Modules of which a change may change what a trial finds."""


@dataclass(slots=True)
class Known:
    """Trials of one instance by (place, kind), and what the instance was."""

    trials: dict[str, Trial] = field(default_factory=dict)
    axes: dict[str, int] = field(default_factory=dict)
    shape: str = ""
    """Digest of the instance's sequence of operations."""
    refused: str = ""
    """Why nothing could be tried."""


def graph_shape(graph: Graph) -> str:
    """Digest of the sequence of operations; equal for a program at two sizes unless it unrolls a loop."""
    return _digest([node.op for node in graph.nodes])


def key_of(problem: Problem, workload: Workload, gate: Gate, more: Sequence[str]) -> str:
    """Identity of a small workload under a gate; ``more``: what else decides what is tried."""
    made_by = (_code(), torch.__version__)
    roots = (str(root) for root in problem.blob_roots)
    digests = (definition_digest(problem.definition), workload_digest(workload))
    return _digest([*made_by, *digests, repr(gate), *roots, list(more)])


@lru_cache(maxsize=1)
def _code() -> str:
    folder = Path(__file__).parent
    texts = [(folder / f"_precision_{name}.py").read_bytes() for name in _SOURCES]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def _digest(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def cache_folder() -> Path:
    """``precision/`` in ``$SOLBENCH_CACHE_DIR``, else in the user's cache folder."""
    named = os.environ.get("SOLBENCH_CACHE_DIR")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "solbench"
    return (Path(named) if named else base) / "precision"


@lru_cache(maxsize=1024)
def known(key: str) -> Known:
    """What is known under a key, from this process or from the cache folder; empty if nothing is."""
    try:
        record = json.loads((cache_folder() / f"{key}.json").read_text(encoding="utf-8"))
        return _from_record(record)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Known()  # a torn or foreign file is as good as none


def _from_record(record: dict[str, Any]) -> Known:
    trials = {name: Trial(**each) for name, each in record["trials"].items()}
    return Known(trials, dict(record["axes"]), str(record["shape"]), str(record["refused"]))


def keep(key: str, found: Known) -> None:
    """Write what is known. A cache folder that cannot be written to is no error: the next run tries again."""
    text = json.dumps(asdict(found))
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(folder / f"{key}.json")
    except OSError:
        return
