"""PyTorch, and every other language whose solutions are Python files: nothing to compile."""

from __future__ import annotations

from solbench.jail.builders import _cache
from solbench.jail.builders._contract import entry, source_texts
from solbench.jail.protocol import Artifact
from solbench.spec import Solution


def build(solution: Solution, device: str) -> Artifact:
    return make_artifact(solution, triton_interpreter=False)


def make_artifact(solution: Solution, *, triton_interpreter: bool) -> Artifact:
    """The sources in a folder of their own."""
    file, function = entry(solution)
    texts = source_texts(solution)
    name = _cache.digest({"language": "python", "sources": texts})
    folder = _cache.stored(name, lambda staging: _cache.write_sources(staging, texts))
    return Artifact(
        folder=str(folder),
        entry_file=file,
        entry_function=function,
        kind="python",
        destination_passing=solution.spec.destination_passing_style,
        digest=name,
        triton_interpreter=triton_interpreter,
    )
