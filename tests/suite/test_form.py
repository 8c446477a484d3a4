"""The form of a problem file and what becomes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from solbench import spec
from solbench.errors import InputError
from solbench.suite import (
    Input,
    build,
    catalogue,
    export,
    load,
    names,
    read_problem_file,
    rows,
    source_of,
)
from solbench.suite._export import export_to
from solbench.suite._form import tensor_type


def test_the_reference_begins_with_the_first_foreign_import(problem_file) -> None:
    source = problem_file()
    assert source.reference.startswith("import torch\n")
    assert source.reference.endswith("return x * w * factor\n")
    assert source.docstring == "Twice the input, by row."


def test_the_exported_reference_needs_nothing_but_torch(problem_file) -> None:
    text = build(problem_file()).definition.reference
    assert "solbench" not in text
    namespace: dict = {}
    exec(text, namespace)
    made = namespace["make_inputs"]({"tokens": 5, "hidden": 16}, torch.device("cpu"))
    assert list(made) == ["x", "w"]
    assert made["x"].shape == (5, 16)
    assert torch.equal(namespace["run"](made["x"], made["w"], 0.5), made["x"] * made["w"] * 0.5)


def test_a_declaration_becomes_a_definition(problem_file) -> None:
    definition = build(problem_file()).definition
    assert definition.axes["tokens"].type == "var"
    assert definition.axes["hidden"].value == 64
    assert definition.inputs["x"].shape == ("tokens", "hidden")
    assert definition.inputs["factor"].shape is None
    assert definition.hf_id == "some/model"
    assert definition.solbench.weights == ("w",)
    assert definition.solbench.tier == "L1"


def test_smoke_workloads_may_override_constant_axes(problem_file) -> None:
    problem = build(problem_file(), smoke=True)
    inputs = spec.make_inputs(problem, problem.workloads[0], 0)
    assert inputs["x"].shape == (3, 16)
    assert inputs["factor"] == 0.5


def test_uuids_depend_on_content_and_not_on_order(problem_file) -> None:
    first = build(problem_file())
    again = build(problem_file("1, 16, 300", "300, 1, 16"))
    by_size = {w.axes["tokens"]: w.uuid for w in again.workloads}
    assert {w.axes["tokens"]: w.uuid for w in first.workloads} == by_size
    other = build(problem_file('name="row_scale"', 'name="row_scale_2"'))
    assert not {w.uuid for w in other.workloads} & set(by_size.values())


def test_a_seed_gives_the_same_inputs_and_another_seed_others(problem_file) -> None:
    problem = build(problem_file())
    first, same, other = (spec.make_inputs(problem, problem.workloads[1], s) for s in (1, 1, 2))
    assert torch.equal(first["x"], same["x"])
    assert not torch.equal(first["x"], other["x"])
    assert not torch.equal(first["w"], other["w"])


def test_exports_are_byte_stable_and_read_back_unchanged(problem_file, tmp_path: Path) -> None:
    source = problem_file()
    one, two = export_to(source, tmp_path / "one"), export_to(source, tmp_path / "two")
    files = sorted(file.name for file in one.iterdir())
    assert files == ["definition.json", "reference.py", "workload.jsonl", "workload_smoke.jsonl"]
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in files)
    read = spec.load_problem(one)
    assert read.digest == build(source).digest
    assert read.warnings == ()
    assert read.definition.solbench.models[0].read == "some/repository: config.json"
    assert not [finding for finding in spec.check(one) if finding.severity == "error"]


def test_a_group_of_inputs_is_made_by_one_call(problem_file) -> None:
    source = problem_file(
        '"w": weight("float32[hidden]", draw.norm_weight()),',
        '"cos": activation("float32[tokens, hidden]", ROPE["cos"]),\n'
        '        "sin": activation("float32[tokens, hidden]", ROPE["sin"]),',
        "PROBLEM =",
        'ROPE = draw.rope_table(tokens="tokens", pairs="hidden")\nPROBLEM =',
        "run(x, w, factor):\n    return x * w * factor",
        "run(x, cos, sin, factor):\n    return x * cos * sin * factor",
    )
    problem = build(source, smoke=True)
    assert problem.definition.reference.count("rope_table(") == 2  # its definition and one call
    inputs = spec.make_inputs(problem, problem.workloads[0], 0)
    one = torch.ones(3, 16)
    assert torch.allclose(inputs["cos"].square() + inputs["sin"].square(), one)


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        (("import torch\n", ""), "has no reference"),
        (("PROBLEM =", "PROBLM ="), "declares no problem"),
        (("float32[tokens, hidden]", "float32(tokens)"), "is not a tensor type"),
        (('rows("tokens", 1, 16, 300)', 'rows("tokens", (1, 2))'), "does not fit the axes"),
    ],
)
def test_a_slip_in_the_file_is_explained(problem_file, replacements, message) -> None:
    with pytest.raises(InputError, match=message):
        problem_file(*replacements)


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        (('rows("tokens hidden"', 'rows("tokens hiden"'), "unknown axes hiden"),
        (("def run(", "def normal():\n    pass\n\n\ndef run("), "also a generator"),
        (("draw.normal(std=2.0)", 'draw.normal(std="width")'), "'width' is no axis"),
    ],
)
def test_a_slip_in_the_declaration_is_explained(problem_file, replacements, message) -> None:
    source = problem_file(*replacements)
    with pytest.raises(InputError, match=message):
        build(source, smoke=True)


def test_tensor_types_are_taken_apart() -> None:
    assert tensor_type("bfloat16[tokens, 16]").shape == ("tokens", "16")
    assert tensor_type("float32[]").shape == ()


def test_rows_of_one_axis_need_no_tuples() -> None:
    assert rows("tokens", 1, 2).sizes() == ({"tokens": 1}, {"tokens": 2})


def test_listing_and_building_the_suite_does_not_import_torch() -> None:
    program = (
        "import sys\nfrom solbench import suite\n"
        "assert suite.names()\n"
        "for name in suite.names():\n    suite.load(name)\n    suite.load(name, smoke=True)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_and_uuids_are_unique_over_the_suite() -> None:
    uuids = [
        workload.uuid
        for name in names()
        for smoke in (False, True)
        for workload in load(name, smoke=smoke).workloads
    ]
    assert len(set(uuids)) == len(uuids)


def test_every_problem_names_a_model_with_its_source_and_has_enough_workloads() -> None:
    for source in catalogue().values():
        assert source.problem.models, source.name
        assert all("/" in model.id and model.source for model in source.problem.models)
        assert len(source.problem.workloads.values) >= 7, source.name
        assert source.docstring, source.name


def test_inputs_that_a_saved_tensor_was_computed_from_do_not_vary() -> None:
    """They would no longer be what it was computed from."""
    for source in catalogue().values():
        inputs = {k: v for k, v in source.problem.inputs.items() if isinstance(v, Input)}
        used = {name for each in inputs.values() for name in each.values.inputs}
        assert [name for name in used if name in inputs and inputs[name].vary] == [], source.name
        assert not [n for n, each in inputs.items() if each.values.computed and each.vary]


def test_nearly_every_problem_has_inputs_that_vary() -> None:
    fixed = {s.name for s in catalogue().values() if s.problem.fixed_values}
    varied = {s.name for s in catalogue().values() if build(s).definition.solbench.variations}
    assert len(varied) >= 231
    assert fixed == set(names()) - varied


def test_a_problem_stands_in_the_folder_of_its_tier() -> None:
    for source in catalogue().values():
        assert source.file.parent.name == source.problem.tier.lower(), source.name


def test_every_problem_file_is_an_ordinary_module() -> None:
    """Importing it as Python does gives the same declaration as reading it."""
    from importlib import import_module

    for source in catalogue().values():
        module = import_module(f"solbench.suite.{source.file.parent.name}.{source.file.stem}")
        declared = getattr(module, "PROBLEMS", None) or [module.PROBLEM]
        assert source.name in [problem.name for problem in declared]


def test_an_unknown_name_shows_near_ones() -> None:
    with pytest.raises(InputError, match=r"no problem 'gemm_n128'.*gemm_n128_k2048"):
        source_of("gemm_n128")


def test_a_prefix_is_allowed() -> None:
    assert load("suite:gemm_n128_k2048").name == "gemm_n128_k2048"


def test_a_name_that_stands_twice_is_refused(problem_file, tmp_path, monkeypatch) -> None:
    from solbench.suite import _catalogue

    source = problem_file()
    (tmp_path / "l1").mkdir()
    for name in ("one.py", "two.py"):
        (tmp_path / "l1" / name).write_bytes(source.file.read_bytes())
    monkeypatch.setattr(_catalogue, "_HERE", tmp_path)
    with pytest.raises(InputError, match=r"'row_scale' is also in one.py"):
        _catalogue.catalogue.__wrapped__()


def test_a_family_file_gives_several_problems(problem_file) -> None:
    source = problem_file()
    text = source.file.read_text(encoding="utf-8")
    text = text.replace("PROBLEM = Problem(", "PROBLEMS = [Problem(").replace(
        'name="row_scale"', 'name=f"row_scale_{number}"'
    )
    text = text.replace("(8, 32)),\n)", "(8, 32)),\n) for number in (1, 2)]")
    source.file.write_text(text, encoding="utf-8")
    found = read_problem_file(source.file)
    assert [each.name for each in found] == ["row_scale_1", "row_scale_2"]
    assert len({each.reference for each in found}) == 1


def test_export_by_name(tmp_path: Path) -> None:
    folder = export("rmsnorm_h128", tmp_path)
    assert folder == tmp_path / "rmsnorm_h128"
    assert spec.load_problem(folder, workload_file="workload_smoke.jsonl").digest == (
        load("rmsnorm_h128", smoke=True).digest
    )
