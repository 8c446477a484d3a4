"""Writing models: byte-stable files, one-line traces, and digests.

A digest is the SHA-256 of canonical JSON: ASCII, no spaces, sorted keys, values that equal their
default left out. Where order carries meaning (inputs and outputs are positional) the mapping is
written as a list of pairs.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from solbench.errors import SpecError
from solbench.spec._definition import Definition
from solbench.spec._json_positions import KeyPath, dotted
from solbench.spec._solution import Solution
from solbench.spec._trace import Trace
from solbench.spec._workload import Workload

_FREE_FORM = (("solbench", "failure"), ("solbench", "bound"), ("solbench", "jail"))
"""Parts of a trace that may hold any number; a NaN there is written as text."""
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


def json_text(model: BaseModel) -> str:
    """The model as a file: its own key order, only keys that were given, two spaces, a final newline."""
    value = model.model_dump(mode="json", exclude_unset=True)
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path | str, model: BaseModel) -> None:
    """Write ``model`` so that equal models give equal bytes."""
    write_text(Path(path), json_text(model))


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 with line ends as they are; ``SpecError`` if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot be written: {reason}", file=path) from error


def workload_line(workload: Workload) -> str:
    """The workload as a line of ``workload.jsonl``, without a line end."""
    return json_line(workload.model_dump(mode="json", exclude_unset=True))


def json_line(value: Any) -> str:
    """Strict JSON on one line, for readers of any kind; a NaN is a ``ValueError``.

    Unicode has line ends that JSON does not know; written as they are, they would let the text of a log
    begin what some readers (``str.splitlines``) take for a record of its own.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def trace_line(trace: Trace) -> str:
    """The trace as a line of strict JSON, official keys first, without a line end.

    Raises ``SpecError`` where a number that must be finite is not; free-form parts of the
    ``solbench`` record spell such numbers as text (``"nan"``, ``"inf"``, ``"-inf"``).
    """
    value = trace.model_dump(mode="json", exclude={"workload"})
    value["workload"] = trace.workload.model_dump(mode="json", exclude_unset=True)
    official = ("definition", "solution", "workload", "evaluation", "solbench")
    ordered = {key: value.pop(key) for key in official} | value
    if ordered["solbench"] is None:
        del ordered["solbench"]
    return json_line(_finite(ordered, ()))


def _finite(value: Any, path: KeyPath) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        if path[:2] in _FREE_FORM:
            return str(value)
        raise SpecError(f"{value} is not a finite number", key=dotted(path))
    return value


def definition_digest(definition: Definition) -> str:
    """SHA-256, in hex, of what the definition says; key order and spacing of its file do not count."""
    value = definition.model_dump(mode="json", exclude_defaults=True)
    for group in ("inputs", "outputs"):
        value[group] = list(value[group].items())
    return _digest(value)


def workload_digest(workload: Workload) -> str:
    """SHA-256, in hex, of the workload, its uuid included."""
    return _digest(workload.model_dump(mode="json", exclude_defaults=True))


def solution_digest(solution: Solution) -> str:
    """SHA-256, in hex, of the solution with all its sources."""
    return _digest(solution.model_dump(mode="json", exclude_defaults=True))


def problem_digest(definition: Definition, workloads: tuple[Workload, ...]) -> str:
    """SHA-256, in hex, of a definition and its workloads in their order."""
    return _digest([definition_digest(definition), *map(workload_digest, workloads)])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
