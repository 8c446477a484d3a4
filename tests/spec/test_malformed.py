"""Whatever stands in the files: they load, or are refused in our own words. Never another exception."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from solbench.errors import InputError, SpecErrors
from solbench.spec import check, input_layout, load_problem, load_solution, read_traces, unpack

PUBLIC_FORM = Path(__file__).parent.parent / "data" / "public_form"
MAKER = json.loads((PUBLIC_FORM / "custom_gather" / "definition.json").read_text())
PROJECT = json.loads((PUBLIC_FORM / "norm_project" / "definition.json").read_text())
SOLUTION = json.loads((PUBLIC_FORM / "norm_project" / "solution.json").read_text())
WORKLOADS = [
    json.loads(line)
    for name in ("norm_project", "packed_blob", "custom_gather")
    for line in (PUBLIC_FORM / name / "workload.jsonl").read_text().splitlines()
    if line.strip()
]
TRACE = {
    "definition": "d",
    "solution": "s",
    "workload": WORKLOADS[0],
    "evaluation": {
        "status": "PASSED",
        "log": "",
        "correctness": {"max_relative_error": 0.0, "max_absolute_error": None},
        "performance": {"latency_ms": 1, "reference_latency_ms": 2, "speedup_factor": 2},
        "environment": {"hardware": "cpu", "libs": {}},
        "timestamp": "2026-01-01T00:00:00Z",
    },
}

ODD_WORDS = (
    "", " ", "0", "-1", "x", "..", "/", "../a", "a::b", "::", "\0", "\ud800", "é" * 300,
    "batch", "expr", "const", "9" * 5000, "hidden +", "hidden ** 99", "hidden // 0", "wide",
    "def run(", "(" * 3000, "import os", "float4_e2m1fn_x2", "random", "scalar",
)  # fmt: skip
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from(ODD_WORDS),
    st.text(max_size=8),
    st.lists(st.integers(-1, 9), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(-1, 2), max_size=2),
    st.just({"type": "expr", "expression": "later"}),
    st.just({"type": "safetensors", "path": "a\0", "tensor_key": "k"}),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in ``value`` with each of its keys or indices."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


@st.composite
def mutated(draw: st.DrawFn, original: Any) -> str:
    """The JSON of ``original`` with a few values, keys or characters changed."""
    value = copy.deepcopy(original)
    for _ in range(draw(st.integers(1, 3))):
        if all_places := list(places(value)):
            container, key = draw(st.sampled_from(all_places))
            _change(draw, container, key)
    text = json.dumps(value)
    return _scratched(draw, text) if draw(st.integers(0, 3)) == 0 else text


def _change(draw: st.DrawFn, container: Any, key: Any) -> None:
    match draw(st.sampled_from(["replace", "replace", "delete", "rename", "add"])):
        case "delete":
            del container[key]
        case "rename" if isinstance(container, dict):
            container[draw(st.text(max_size=6))] = container.pop(key)
        case "add" if isinstance(container, dict):
            container[draw(st.sampled_from(["", "model_dump", "self", "x.y", "__class__"]))] = 1
        case _:
            container[key] = copy.deepcopy(draw(JUNK))


def _scratched(draw: st.DrawFn, text: str) -> str:
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 5)))
    scratches = ["", "{", "}", '"', "\n", "NaN", "\ufeff", '"name": 1, ', "[" * 99, "\\u", "//"]
    return text[:start] + draw(st.sampled_from(scratches)) + text[end:]


def refused_or(load: Callable[[], Any]) -> Any:
    """What ``load`` returns; ``None`` if it refuses in our own words."""
    try:
        return load()
    except InputError as error:
        singles = error.errors if isinstance(error, SpecErrors) else (error,)
        assert all(single.what and str(single) for single in singles)
        return None


def written(folder: str, name: str, text: str) -> Path:
    file = Path(folder) / name
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file


@settings(max_examples=250, deadline=None, derandomize=True)
@given(
    st.sampled_from([MAKER, PROJECT]).flatmap(mutated), st.sampled_from(WORKLOADS).map(json.dumps)
)
def test_any_definition_loads_or_is_refused(definition: str, workload: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        written(folder, "definition.json", definition)
        written(folder, "workload.jsonl", workload)
        problem = refused_or(lambda: load_problem(folder))
        findings = check(folder)
        assert problem is not None or any(finding.severity == "error" for finding in findings)
        if problem is not None:
            refused_or(lambda: input_layout(problem, problem.workloads[0]))


@settings(max_examples=250, deadline=None, derandomize=True)
@given(
    st.sampled_from([MAKER, PROJECT]).map(json.dumps),
    st.lists(st.sampled_from(WORKLOADS).flatmap(mutated), max_size=3),
)
def test_any_workload_loads_or_is_refused(definition: str, workloads: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        written(folder, "definition.json", definition)
        written(folder, "workload.jsonl", "\n".join(workloads))
        problem = refused_or(lambda: load_problem(folder))
        check(folder)
        for workload in problem.workloads if problem else ():
            refused_or(lambda workload=workload: input_layout(problem, workload))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(mutated(SOLUTION))
def test_any_solution_loads_or_is_refused(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = written(folder, "solution.json", text)
        solution = refused_or(lambda: load_solution(file))
        check(file)
        if solution is not None:
            refused_or(lambda: unpack(solution, Path(folder) / "unpacked"))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(mutated(TRACE))
def test_any_trace_loads_or_is_refused(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = written(folder, "traces.jsonl", text)
        refused_or(lambda: read_traces(file))
        check(file)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.binary(max_size=40), st.sampled_from(["definition.json", "workload.jsonl", "a.json"]))
def test_any_bytes_are_refused(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(content)
        assert refused_or(lambda: load_problem(folder)) is None
        check(folder)
