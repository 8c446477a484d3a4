"""``solbench bound`` and ``explain`` on a real problem whose work is known by hand."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

CONTRACT = {
    "problem", "workload", "hardware", "clock_mhz", "t_sol_ms", "t_attainable_ms", "t_floor_ms",
    "binding", "matrix_flops", "dram_read_bytes", "dram_write_bytes", "complete", "unknown_ops",
    "capture", "verified", "verified_nodes", "total_nodes", "unverified", "precision",
    "assumptions", "seconds", "admission",
}  # fmt: skip
MODULE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        {statement}


def get_inputs():
    return [torch.rand(64, 64)]


def get_init_inputs():
    return []
"""


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_json_has_the_contract_keys_and_the_bytes_of_each_workload(
    run: Any, problem_folder: Path
) -> None:
    result = run("bound", problem_folder, "--hardware", "h200", "--json", "--jobs", "1")
    assert result.exit_code == 0, result.stderr
    records = json_lines(result.stdout)
    assert all(record.keys() >= CONTRACT for record in records)
    # x and y are n float32 each: 256 and 1024 elements of 4 bytes, at 4.8 TB/s.
    assert [r["dram_read_bytes"] for r in records] == [1024, 4096]
    assert [r["dram_write_bytes"] for r in records] == [1024, 4096]
    assert [r["t_sol_ms"] for r in records] == pytest.approx([2048 / 4.8e9, 8192 / 4.8e9])


def test_a_failing_program_is_a_line_and_the_others_go_on(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "a_bad.py").write_text(MODULE.format(statement="raise RuntimeError('no')"))
    (modules / "b_good.py").write_text(MODULE.format(statement="return x @ x"))
    out = tmp_path / "bounds.jsonl"
    result = run("bound", modules, "--hardware", "h200", "--out", out, "--jobs", "1")
    assert result.exit_code == 1
    bad, good = json_lines(out.read_text())
    assert (bad["complete"], bad["t_sol_ms"]) == (False, None)
    assert "no" in bad["error"]
    assert good["matrix_flops"] == {"fp32": 2 * 64**3}
    assert "1 of 2 bounds complete" in result.stdout


def test_resume_skips_what_the_file_holds(run: Any, problem_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "bounds.jsonl"
    first, second = (
        json.loads(line)["uuid"]
        for line in (problem_folder / "workload.jsonl").read_text().splitlines()
    )
    out.write_text(json.dumps({"problem": "double", "workload": first, "hardware": "h200"}) + "\n")
    result = run(
        "bound", problem_folder, "--hardware", "h200", "--jobs", "1", "--out", out, "--resume",
        "--json",
    )  # fmt: skip
    assert [record["workload"] for record in json_lines(result.stdout)] == [second]
    assert [record["workload"] for record in json_lines(out.read_text())] == [first, second]


def test_an_unknown_device_or_an_empty_folder_is_bad_input(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    assert run("bound", problem_folder, "--hardware", "h20").exit_code == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run("bound", empty, "--hardware", "h200").exit_code == 2


def test_without_a_gpu_the_fallback_device_is_said(
    run: Any, problem_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    result = run("explain", problem_folder)
    assert "pricing on h200" in result.stderr
    assert "on h200 at" in result.stdout


def test_explain_shows_the_terms_and_writes_a_picture(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "bound.svg"
    result = run(
        "explain", problem_folder, "--workload", "aaaa2", "--hardware", "h200", "--why-not",
        "--method", "fused-io", "--plot", plot,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80
    for part in ("T_SOL", "T_attainable", "dram", "4.80 TB/s", "assumes:", "nothing was left out"):
        assert part in result.stdout
    assert re.search(r"x +read +4.00 KiB", result.stdout)
    assert plot.read_text().lstrip().startswith("<?xml")


def test_explain_in_json_holds_the_bound_and_its_reasons(run: Any, problem_folder: Path) -> None:
    result = run("explain", problem_folder, "--hardware", "h200", "--method", "fused-io", "--json")
    (record,) = json_lines(result.stdout)
    assert record.keys() >= CONTRACT
    assert {term["resource"] for term in record["terms"]} >= {"dram"}
    assert [each["tensor"] for each in record["traffic"]] == ["x", "y"]
    assert record["fused_io"]["dram_bytes"] == 2048


def test_resume_derives_again_at_another_clock(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bounds.jsonl"
    known = ["bound", problem_folder, "--hardware", "h200", "--jobs", "1", "--out", out, "--json"]
    assert len(json_lines(run(*known).stdout)) == 2
    assert json_lines(run(*known, "--resume").stdout) == []
    again = json_lines(run(*known, "--resume", "--clock", "1000").stdout)
    assert [record["clock_mhz"] for record in again] == [1000.0, 1000.0]


def test_a_clock_must_be_finite(run: Any, problem_folder: Path) -> None:
    assert run("bound", problem_folder, "--hardware", "h200", "--clock", "inf").exit_code == 2


def test_a_module_can_be_explained(run: Any, tmp_path: Path) -> None:
    module = tmp_path / "square.py"
    module.write_text(MODULE.format(statement="return x @ x"))
    result = run("explain", module, "--hardware", "h200", "--json")
    assert result.exit_code == 0
    (record,) = json_lines(result.stdout)
    assert record["problem"] == str(module)
    assert record["matrix_flops"] == {"fp32": 2 * 64**3}
    assert run("explain", module, "--hardware", "h200", "--workload", "x").exit_code == 2


def test_a_folder_without_a_rule_is_one_error_and_not_one_a_workload(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "helper.py").write_text("answer = 42\n")
    result = run("bound", problem_folder, "--hardware", "h200", "--rules", tmp_path / "rules")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "none of its files has a rule" in " ".join(result.stderr.split())
