"""Starts: the right signature in every language, and wrong for the right reason where they can be run here."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from solbench.errors import BuildError, InputError
from solbench.jail import build
from solbench.judge import Budget, Judge, StopRule
from solbench.spec import (
    PYTHON_LANGUAGES,
    Definition,
    Problem,
    Workload,
    load_solution,
    make_problem,
    signature_error,
    unpack,
)
from solbench.starter import BINDINGS, LANGUAGES, starting_solution

pytestmark = pytest.mark.xdist_group("judge")

NAMES = {
    "name": "two",
    "axes": {"n": {"type": "var"}, "m": {"type": "const", "value": 3}},
    "inputs": {
        "lambda": {"shape": ["n", "m"], "dtype": "bfloat16"},
        "scale": {"shape": None, "dtype": "float32"},
        "count": {"shape": None, "dtype": "int32"},
    },
    "outputs": {
        "y": {"shape": ["n", "m"], "dtype": "bfloat16"},
        "total": {"shape": ["n"], "dtype": "float32"},
    },
    "reference": "import torch\n\n\ndef run(x, scale, count):\n"
    "    y = (x.float() * scale + count).bfloat16()\n    return y, y.float().sum(dim=1) + 5.0\n",
}
DEFINITION = Definition.model_validate(NAMES)


@pytest.fixture(scope="module")
def problem() -> Problem:
    inputs = {
        "lambda": {"type": "random"},
        "scale": {"type": "scalar", "value": 2.0},
        "count": {"type": "scalar", "value": 3},
    }
    workload = {"uuid": "w", "axes": {"n": 500}, "inputs": inputs}
    return make_problem(DEFINITION, [Workload.model_validate(workload)])


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    brief = StopRule(minimum=8, least=4, seconds=0.1, relative=0.05)
    with Judge("cpu", budgets={"reward": Budget(brief, brief)}) as judge:
        yield judge


@pytest.mark.parametrize(
    ("language", "binding"),
    [("pytorch", None), ("triton", None), ("numba", None), ("cpp", "c"), ("cpp", "tvm_ffi")],
)
def test_a_start_runs_and_is_wrong_for_the_right_reason(
    language: str, binding: str | None, judge: Judge, problem: Problem
) -> None:
    pytest.importorskip({"tvm_ffi": "tvm_ffi"}.get(binding or "", "torch"))
    pytest.importorskip(language if language in ("triton", "numba") else "torch")
    solution = starting_solution(problem.definition, language, binding)
    (trace,) = judge.evaluate(problem, solution).traces
    assert trace.evaluation.status == "INCORRECT_NUMERICAL", trace.evaluation.log
    assert "zeros" in trace.evaluation.log
    if language in PYTHON_LANGUAGES:
        assert "not written yet" in trace.evaluation.log


@pytest.mark.parametrize("language", sorted(PYTHON_LANGUAGES))
def test_a_start_in_python_takes_what_the_problem_passes(language: str) -> None:
    solution = starting_solution(DEFINITION, language)
    assert signature_error(solution, DEFINITION) is None
    tree = ast.parse(solution.sources[0].content)
    (run,) = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "run"]
    assert [each.arg for each in run.args.args] == ["_lambda", "scale", "count", "y", "total"]


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("language", ["cpp", "cuda_cpp", "cutlass", "cublas", "cudnn"])
def test_a_compiled_start_names_every_parameter(language: str, binding: str) -> None:
    solution = starting_solution(DEFINITION, language, binding)
    text = "\n".join(source.content for source in solution.sources)
    for about in ("_lambda: bfloat16 [n, m]", "scale: float32 number", "total: float32 [n]"):
        assert about in text.replace(", bfloat16", ": bfloat16").replace(", float32", ": float32")
    assert solution.spec.binding == binding
    if binding != "c":
        assert "double scale, int64_t count" in text


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_a_cuda_start_compiles() -> None:
    try:
        build(starting_solution(DEFINITION, "cuda_cpp"), "cpu")
    except BuildError as error:
        pytest.fail(error.log)


def test_every_language_has_a_start_that_reads_back_from_its_folder(tmp_path: Path) -> None:
    for language in LANGUAGES:
        solution = starting_solution(DEFINITION, language)
        unpack(solution, tmp_path / language)
        assert load_solution(tmp_path / language) == solution


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="--language: there is no language 'cobol'"):
        starting_solution(DEFINITION, "cobol")
    with pytest.raises(InputError, match="--binding: there is no binding 'jni'"):
        starting_solution(DEFINITION, "cpp", "jni")
    with pytest.raises(InputError, match="triton is Python and has no binding"):
        starting_solution(DEFINITION, "triton", "c")


def test_names_that_mean_something_else_are_changed() -> None:
    document: Any = json.loads(json.dumps(NAMES))
    document["inputs"] = {"torch": NAMES["inputs"]["lambda"], "y": NAMES["inputs"]["lambda"]}  # type: ignore[index]
    solution = starting_solution(Definition.model_validate(document), "pytorch")
    assert "def run(torch_, y, y_, total):" in solution.sources[0].content
