"""check, pack, unpack, schema, report and hardware on real files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solbench.spec import Trace, trace_line


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_check_accepts_a_valid_problem(run: Any, problem_folder: Path) -> None:
    result = run("check", problem_folder)
    assert result.exit_code == 0, result.stdout
    assert "0 errors" in result.stdout


def test_check_names_file_line_and_key_of_what_is_wrong(run: Any, problem_folder: Path) -> None:
    file = problem_folder / "definition.json"
    file.write_text(file.read_text().replace("float32", "float31"))
    result = run("check", problem_folder, "--json")
    assert result.exit_code == 1
    finding = json_lines(result.stdout)[0]
    assert finding["severity"] == "error"
    assert finding["file"].endswith("definition.json")
    assert "dtype" in finding["key"]


def test_unpack_then_pack_gives_the_same_solution(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    loose, again = tmp_path / "loose", tmp_path / "again.json"
    assert run("unpack", problem_folder / "solution.json", "--out", loose).exit_code == 0
    assert (loose / "main.py").exists()
    result = run("pack", loose, "--out", again, "--json")
    assert json_lines(result.stdout) == [{"solution": "double_add", "file": str(again)}]
    packed = json.loads(again.read_text())
    original = json.loads((problem_folder / "solution.json").read_text())
    assert packed["sources"] == original["sources"]
    assert packed["spec"]["entry_point"] == original["spec"]["entry_point"]


def test_unpack_does_not_write_into_a_folder_that_holds_something(
    run: Any, problem_folder: Path
) -> None:
    result = run("unpack", problem_folder / "solution.json", "--out", problem_folder)
    assert result.exit_code == 2
    assert "not an empty folder" in result.stderr.replace("\n", " ")


def test_schema_prints_a_json_schema(run: Any) -> None:
    for model in ("definition", "workload", "solution", "trace"):
        document = json.loads(run("schema", model).stdout)
        assert document["type"] == "object"


def test_report_writes_a_page_and_a_line_a_solution(
    run: Any, sample_run: list[Trace], tmp_path: Path
) -> None:
    traces, page = tmp_path / "traces.jsonl", tmp_path / "page.html"
    traces.write_text("".join(trace_line(trace) + "\n" for trace in sample_run))
    result = run("report", traces, "-o", page, "--json")
    assert result.exit_code == 0
    assert [(r["solution"], r["passed"]) for r in json_lines(result.stdout)] == [
        ("fast", 2),
        ("wrong", 0),
    ]
    assert "<!doctype html>" in page.read_text()


def test_report_of_an_empty_file_says_what_to_do(run: Any, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    result = run("report", empty, "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert "error:" in result.stderr


def test_hardware_is_listed_with_its_sources(run: Any) -> None:
    names = [record["name"] for record in json_lines(run("hardware", "list", "--json").stdout)]
    assert {"cpu", "h200", "b200", "h100_sxm"} <= set(names)
    listing = run("hardware", "list").stdout
    assert "…" not in listing
    shown = run("hardware", "show", "h200").stdout
    assert "4.80 TB/s" in shown
    assert "datasheet" in shown


def test_an_unknown_device_lists_the_known_ones(run: Any) -> None:
    result = run("hardware", "show", "h20")
    assert result.exit_code == 2
    assert "h200" in result.stderr


def test_doctor_looks_at_every_area(run: Any) -> None:
    result = run("doctor", "--json")
    records = json_lines(result.stdout)
    areas = {record["area"] for record in records}
    assert {"system", "torch", "gpu", "compilers", "jail", "packages", "caches"} <= areas
    assert all(record["detail"] for record in records)
    assert result.exit_code == 0


def test_a_probe_that_fails_is_a_finding(run: Any, monkeypatch: Any) -> None:
    def broken() -> Callable[..., Any]:
        raise OSError("the driver is broken")

    monkeypatch.setattr("solbench.cli._probes._gpus", broken)
    result = run("doctor")
    assert "the driver is broken" in result.stdout


def test_a_check_of_nothing_does_not_pass(run: Any, tmp_path: Path) -> None:
    result = run("check", tmp_path)
    assert result.exit_code == 1
    assert "holds no file to check" in " ".join(result.stdout.split())


def test_a_report_of_no_traces_is_bad_input(run: Any, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    result = run("report", tmp_path / "none.jsonl")
    assert result.exit_code == 2
    assert "holds no trace" in " ".join(result.stderr.split())
