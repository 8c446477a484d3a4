from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solbench.errors import AxisError, InputError, SpecError, SpecErrors
from solbench.spec import load_problem

Write = Callable[..., Path]


def errors_of(folder: Path) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load_problem(folder)
    error = caught.value
    return [str(one) for one in (error.errors if isinstance(error, SpecErrors) else [error])]


def test_public_files_load_with_their_oddities_reported_once(public_form: Path) -> None:
    problem = load_problem(public_form / "norm_project")
    assert problem.definition.hf_id is None  # ""
    assert problem.definition.custom_inputs_entrypoint is None  # null
    assert [warning.removeprefix(str(problem.folder)) for warning in problem.warnings] == [
        "/definition.json:7: tags: unknown key, kept",
        "/definition.json:98: constraints[1]: not checked: "
        "Call is not allowed in an expression over axes",
        "/workload.jsonl:1: tolerance.required_match_ratio: misspelt (on 2 of 3 lines) and "
        "without effect: the ratio is 0.99. The name is 'required_matched_ratio'.",
    ]
    assert problem.definition.model_extra == {"tags": ["status:made-up"]}


def test_a_misspelt_ratio_is_kept_but_has_no_effect(public_form: Path) -> None:
    first, second, third = load_problem(public_form / "norm_project").workloads
    assert first.tolerance.required_matched_ratio == 0.99
    assert first.tolerance.model_extra == {"required_match_ratio": 0.95}
    assert second.tolerance.max_atol == second.tolerance.max_rtol == 0.01
    assert third.tolerance.max_error_cap is None


def test_axes_repeat_within_a_file_and_workloads_are_found_by_uuid(public_form: Path) -> None:
    problem = load_problem(public_form / "norm_project" / "definition.json")
    assert problem.workload("norm-0").axes == problem.workload("norm-1").axes
    with pytest.raises(InputError, match=r"no workload 'x'\. Known: norm-0, norm-1, norm-2"):
        problem.workload("x")


def test_sizes_follow_expressions_declared_in_any_order(public_form: Path) -> None:
    problem = load_problem(public_form / "norm_project")
    workload = problem.workload("norm-0")
    assert problem.axis_values(workload) == {
        "batch": 2, "seq": 4, "heads": 2, "wide": 32, "hidden": 16, "head_dim": 8,
    }  # fmt: skip
    assert problem.input_shape(workload, "x") == (2, 4, 16)
    assert problem.input_shape(workload, "bias") == (1, 1)  # sizes written as text
    assert problem.input_shape(workload, "temperature") is None
    assert problem.output_shape(workload, "row_sum") == (2, 4)
    with pytest.raises(InputError, match="no tensor 'z'"):
        problem.input_shape(workload, "z")


def test_a_workload_may_override_a_const_axis(public_form: Path) -> None:
    problem = load_problem(public_form / "norm_project")
    assert problem.axis_values(problem.workload("norm-2"))["wide"] == 2 * 2 * 16


def test_a_problem_without_var_axes_loads(public_form: Path) -> None:
    problem = load_problem(public_form / "packed_blob")
    assert problem.axis_values(problem.workloads[0]) == {"n": 6}


def test_a_missing_axis_spares_the_other_workloads(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    folder = write_problem(definition, workload, {"uuid": "w1", "axes": {"row": 2}})
    problem = load_problem(folder)
    assert problem.axis_values(problem.workload("w0"))["rows"] == 3
    with pytest.raises(AxisError, match=r"^rows: workload w1 gives no value for this axis"):
        problem.axis_values(problem.workload("w1"))
    assert [warning.partition(": ")[2] for warning in problem.warnings] == [
        "axes.rows: workload w1 gives no value for this axis. Add it to the workload's 'axes'.",
        "axes.row: is no axis of the definition; ignored",
    ]


def test_an_expr_axis_may_be_repeated_but_not_changed(
    write_problem: Write, definition: Any
) -> None:
    folder = write_problem(
        definition,
        {"uuid": "same", "axes": {"rows": 1, "double": 8}},
        {"uuid": "other", "axes": {"rows": 1, "double": 9}},
    )
    problem = load_problem(folder)
    assert problem.axis_values(problem.workload("same"))["double"] == 8
    with pytest.raises(AxisError, match=r"double: .* says 9, but '2 \* columns' is 8"):
        problem.axis_values(problem.workload("other"))


def test_a_broken_constraint_is_warned_about(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    definition["constraints"] = ["rows % 2 == 1", "rows > columns"]
    (warning,) = load_problem(write_problem(definition, workload)).warnings
    assert warning.endswith("workload.jsonl:1: axes: the constraint 'rows > columns' does not hold")


def test_every_problem_of_both_files_comes_in_one_pass(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    definition["inputs"]["x"]["dtype"] = "fp32"
    definition["axes"]["columns"]["value"] = -4
    del definition["outputs"]
    workload["axes"]["rows"] = "3"
    folder = write_problem(definition, "{", workload, {"axes": {}})
    assert [line.removeprefix(str(folder)) for line in errors_of(folder)] == [
        "/definition.json:9: axes.columns.value: should be greater than 0",
        "/definition.json:22: inputs.x.dtype: unknown dtype 'fp32'. Write 'float32'.",
        "/definition.json:1: outputs: is missing. Add it.",
        "/workload.jsonl:1: is not JSON: Expecting property name enclosed in double quotes (column 2)",
        "/workload.jsonl:2: axes.rows: should be a valid integer",
        "/workload.jsonl:3: uuid: is missing. Add it.",
    ]


def test_axis_errors_name_the_axis_and_are_axis_errors(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    definition["axes"]["double"]["expression"] = "colums * 2"
    folder = write_problem(definition, workload)
    with pytest.raises(AxisError, match=r"axes.double: .* unknown axis 'colums'. Known axes: rows"):
        load_problem(folder)


@pytest.mark.parametrize("entry", ["cols", "0", "-1", "1.5", "", "columns * 2", "0x10"])
def test_a_shape_entry_is_an_axis_or_a_positive_integer(
    write_problem: Write, definition: Any, workload: Any, entry: str
) -> None:
    definition["outputs"]["y"]["shape"] = ["rows", entry]
    (error,) = errors_of(write_problem(definition, workload))
    assert f"outputs.y.shape[1]: '{entry}' is neither an axis nor a positive integer" in error


@pytest.mark.parametrize("name", ["7", "-1", " "])
def test_an_axis_name_is_a_word(
    write_problem: Write, definition: Any, workload: Any, name: str
) -> None:
    definition["axes"][name] = {"type": "var"}
    (error,) = errors_of(write_problem(definition, workload))
    assert "is no name for an axis" in error


def test_repeated_uuids_are_refused_with_both_lines(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    (error,) = errors_of(write_problem(definition, workload, workload))
    assert "workload.jsonl:2: uuid: 'w0' stands on line 1 already" in error


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ("def run(x, factor)\n  pass", r"reference: is not Python: .*\(its line 1\)"),
        ("def ran(x, factor): pass", "does not define 'run'. Define it at top level."),
        ("class A:\n  def run(x, factor): pass", "does not define 'run'"),
        ("def run(x): pass", "takes 1, but 2 inputs are declared"),
        ("def run(x, y, z, w=1): pass", "takes 3 to 4, but 2 inputs"),
        ("def run(x, y, *, z): pass", "needs the keyword z, but 2 inputs"),
        ("\0", "is not Python"),
        ("(" * 5000, "is not Python"),
    ],
)
def test_a_reference_that_cannot_be_called_is_refused(
    write_problem: Write, definition: Any, workload: Any, reference: str, what: str
) -> None:
    definition["reference"] = reference
    folder = write_problem(definition, workload)
    with pytest.raises(SpecError, match=what):
        load_problem(folder)


@pytest.mark.parametrize(
    "reference",
    [
        "def run(*args): return args",
        "def run(x, factor, eps=1e-6): return x",
        "import torch\n@torch.no_grad()\ndef run(x, factor): return x",
        "@some.decorator\ndef run(x): return x",  # it may change the parameters
        "def _run(x, factor): return x\nrun = _run",
        "from os.path import *",
        "try:\n  def run(x, factor): return x\nexcept Exception: pass",
        "def run(x, factor): return '\\d'",  # an odd escape is the author's business
    ],
)
def test_a_reference_that_may_be_callable_is_accepted(
    write_problem: Write, definition: Any, workload: Any, reference: str
) -> None:
    definition["reference"] = reference
    assert load_problem(write_problem(definition, workload)).name == "scale_rows"


def test_the_entrypoint_must_be_defined(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    definition["custom_inputs_entrypoint"] = "make"
    (error,) = errors_of(write_problem(definition, workload))
    assert "custom_inputs_entrypoint: the reference does not define 'make'" in error


def test_custom_inputs_without_an_entrypoint_make_one_workload_unusable(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    workload["inputs"]["x"] = {"type": "custom"}
    (warning,) = load_problem(write_problem(definition, workload)).warnings
    assert "inputs.x: is custom, but the definition names no entrypoint" in warning


def test_a_reference_file_stands_in_for_a_missing_key_and_is_compared(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    reference = definition.pop("reference")
    folder = write_problem(definition, workload)
    (folder / "reference.py").write_text(reference)
    assert load_problem(folder).definition.reference == reference
    definition["reference"] = reference
    folder = write_problem(definition, workload)
    (folder / "reference.py").write_text(reference + "\n# more\n")
    (warning,) = load_problem(folder).warnings
    assert "reference.py: differs from 'reference' in definition.json, which counts" in warning


@pytest.mark.parametrize("name", ["absent", "absent/definition.json", "nul\0"])
def test_a_path_that_is_no_problem_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match=r"no such file or folder|cannot be read"):
        load_problem(tmp_path / name)


def test_a_workload_file_of_another_name_can_be_asked_for(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    folder = write_problem(definition, workload)
    (folder / "workload_gpu.jsonl").write_text('{"uuid": "big", "axes": {"rows": 4096}}\n')
    problem = load_problem(folder, workload_file="workload_gpu.jsonl")
    assert [workload.uuid for workload in problem.workloads] == ["big"]


def test_the_digest_follows_meaning_not_spelling(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    digest = load_problem(write_problem(definition, workload)).digest
    reordered = dict(reversed(definition.items())) | {"hf_id": ""}
    assert load_problem(write_problem(reordered, workload)).digest == digest
    swapped = definition | {"inputs": dict(reversed(definition["inputs"].items()))}
    assert load_problem(write_problem(swapped, workload)).digest != digest
    workload["tolerance"] = {"max_atol": 0.5}
    assert load_problem(write_problem(definition, workload)).digest != digest


def test_an_environment_variable_names_a_further_blob_root(
    write_problem: Write, definition: Any, workload: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_problem(definition, workload)
    monkeypatch.setenv("FLASHINFER_TRACE_DIR", "/somewhere")
    assert load_problem(folder, ["/first"]).blob_roots == (Path("/first"), Path("/somewhere"))
