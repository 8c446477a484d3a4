from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from solbench.errors import SpecError, SpecErrors
from solbench.spec import Definition, Solution, load_solution, signature_error
from solbench.spec._field_problems import Name
from solbench.spec._solution import path_problem


def load(tmp_path: Path, solution: Any) -> Solution:
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(solution, indent=1))
    return load_solution(file)


def test_defaults_of_a_solution(tmp_path: Path, solution: Any) -> None:
    del solution["spec"]["destination_passing_style"]
    loaded = load(tmp_path, solution)
    assert loaded.spec.destination_passing_style
    assert loaded.spec.compile_options is None
    assert loaded.spec.binding is None
    assert (loaded.spec.entry_file, loaded.spec.entry_function) == ("main.py", "run")
    assert not loaded.spec.native


def test_absent_compile_options_differ_from_empty_ones(tmp_path: Path, solution: Any) -> None:
    solution["spec"] |= {"languages": ["cuda_cpp"], "compile_options": {}}
    options = load(tmp_path, solution).spec.compile_options
    assert options is not None
    assert options.cflags == ()
    assert options.cuda_cflags == ("-O3", "--use_fast_math")
    assert options.ld_flags == ("-lcuda",)


@pytest.mark.parametrize("binding", ["torch", "tvm_ffi", "c"])
def test_native_solutions_name_a_binding(tmp_path: Path, solution: Any, binding: str) -> None:
    solution["spec"] |= {"languages": ["cuda_cpp", "cublas"], "binding": binding}
    assert load(tmp_path, solution).spec.native


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"languages": ["triton", "cuda_cpp"]}, r"spec.languages: Python languages \(triton\) and"),
        ({"languages": []}, "spec.languages: "),
        ({"languages": ["fortran"]}, r"spec.languages\[0\]: should be 'pytorch', "),
        ({"entry_point": "main.py:run"}, "is not of the form file::function"),
        ({"entry_point": "main.py::run()"}, "is not of the form file::function"),
        ({"entry_point": "other.py::run"}, "'other.py' is not among the sources.*main.py"),
        ({"binding": "pybind"}, "spec.binding: should be 'torch', 'tvm_ffi' or 'c'"),
        ({"destination_passing_style": "yes"}, "should be a valid boolean"),
        ({"target_hardware": []}, "spec.target_hardware: "),
        ({"compile_options": {"cflags": "-O3"}}, "spec.compile_options.cflags: "),
    ],
)
def test_a_spec_that_breaks_a_rule_is_refused(
    tmp_path: Path, solution: Any, change: Any, what: str
) -> None:
    solution["spec"] |= change
    with pytest.raises(SpecError, match=what):
        load(tmp_path, solution)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/abs.py",
        "../up.py",
        "a/../../b.py",
        "a//b.py",
        "./a.py",
        "C:/a.py",
        "a\\b.py",
        "a\0.py",
        "é" * 128,
        "d/" * 600 + "a.py",
    ],
)
def test_paths_stay_inside_the_solution(tmp_path: Path, solution: Any, path: str) -> None:
    solution["sources"].append({"path": path, "content": ""})
    with pytest.raises(SpecError, match=r"sources\[1\](.path)?: "):
        load(tmp_path, solution)
    assert path_problem(path)


@pytest.mark.parametrize("path", ["a.py", "src/a.cu", "a b/c-d_e.f", "..a/b", "é.py"])
def test_other_paths_are_fine(path: str) -> None:
    assert path_problem(path) is None


@pytest.mark.parametrize(
    ("second", "what"),
    [("main.py", "stands twice"), ("main.py/part.py", "both a file and a folder")],
)
def test_paths_do_not_collide(tmp_path: Path, solution: Any, second: str, what: str) -> None:
    solution["sources"].append({"path": second, "content": ""})
    with pytest.raises(SpecError, match=what):
        load(tmp_path, solution)


def test_all_rules_report_together(tmp_path: Path, solution: Any) -> None:
    solution["spec"]["entry_point"] = "other.py::run"
    solution["sources"] += [{"path": "../a", "content": ""}, {"path": "main.py", "content": ""}]
    with pytest.raises(SpecErrors) as caught:
        load(tmp_path, solution)
    assert [error.key for error in caught.value.errors] == [
        "sources[1].path",
        "sources[2].path",
        "spec.entry_point",
    ]
    assert all(error.line for error in caught.value.errors)


@pytest.mark.parametrize(
    ("source", "passing", "problem"),
    [
        ("def run(x, factor): pass", False, None),
        ("def run(x, factor, y): pass", True, None),
        ("def run(*everything): pass", True, None),
        ("import triton\n@triton.autotune([])\ndef run(): pass", True, None),
        ("def run(x, factor): pass", True, "takes 2, but is called with 2 inputs and 1 outputs"),
        ("\ndef run(x): pass", False, r"\(main.py line 2\) takes 1, but is called with 2 inputs"),
        ("def ran(x, factor): pass", False, "main.py does not define 'run' at top level"),
        ("\ndef run(", False, "main.py line 2 is not Python"),
    ],
)
def test_signatures_are_judged_before_anything_runs(
    definition: Any, solution: Any, source: str, passing: bool, problem: str | None
) -> None:
    solution["spec"]["destination_passing_style"] = passing
    solution["sources"][0]["content"] = source
    found = signature_error(
        Solution.model_validate(solution), Definition.model_validate(definition)
    )
    if problem is None:
        assert found is None
    else:
        with pytest.raises(AssertionError, match=problem):
            raise AssertionError(found)


def test_a_name_that_a_terminal_would_obey_is_refused() -> None:
    with pytest.raises(ValidationError, match="holds control characters"):
        TypeAdapter(Name).validate_python("fast\x1b[31m")
    assert TypeAdapter(Name).validate_python("größe-2 [bold]") == "größe-2 [bold]"


def test_tens_of_thousands_of_sources_are_looked_through_once(solution: Any) -> None:
    paths = (f"folder/f{number}.py" for number in range(50_000))
    solution["sources"] += [{"path": path, "content": ""} for path in paths]
    assert len(Solution.model_validate(solution).sources) == 50_001
    solution["sources"].append({"path": "folder", "content": ""})
    with pytest.raises(ValueError, match="'folder' is both a file and a folder"):
        Solution.model_validate(solution)
