"""``solbench suite`` in process."""

import json
from pathlib import Path
from typing import Any

from solbench.suite import TARGET, load, names


def test_the_list_counts_problems_against_the_target(run: Any) -> None:
    result = run("suite", "list")
    assert result.exit_code == 0
    assert "gemm_n128_k2048" in result.stdout
    assert str(sum(TARGET.values())) in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_list_as_json_has_one_line_a_problem(run: Any) -> None:
    lines = [json.loads(line) for line in run("suite", "list", "--json").stdout.splitlines()]
    assert [line["name"] for line in lines] == list(names())
    assert all(line["models"] for line in lines)


def test_the_list_by_model_shows_model_names(run: Any) -> None:
    assert "deepseek-ai/DeepSeek-V3" in run("suite", "list", "--by", "model").stdout


def test_names_stand_whole_on_a_line_of_their_own(run: Any) -> None:
    for by in ("tier", "family", "model"):
        lines = {line.strip() for line in run("suite", "list", "--by", by).stdout.splitlines()}
        assert set(names()) <= lines


def test_the_reference_can_be_copied_as_it_is_shown(run: Any) -> None:
    longest = max(names(), key=lambda name: max(map(len, _reference(name).splitlines())))
    assert max(map(len, _reference(longest).splitlines())) > 80
    assert run("suite", "show", longest).stdout.rstrip().endswith(_reference(longest).rstrip())


def _reference(name: str) -> str:
    return load(name).definition.reference


def test_a_problem_is_shown_with_its_reference(run: Any) -> None:
    result = run("suite", "show", "rmsnorm_h512")
    assert "kv_lora_rank 512" in result.stdout
    assert "def run(hidden_states, weight, eps):" in result.stdout


def test_an_unknown_problem_is_bad_input(run: Any) -> None:
    result = run("suite", "show", "no_such_problem")
    assert result.exit_code == 2


def test_an_exported_problem_passes_the_file_check(run: Any, tmp_path: Path) -> None:
    assert run("suite", "export", tmp_path, "rmsnorm_h512").exit_code == 0
    assert run("check", tmp_path / "rmsnorm_h512").exit_code == 0


def test_checking_says_what_each_gate_found(run: Any) -> None:
    result = run("suite", "check", "gemm_n128_k2048", "--no-bounds", "--json")
    assert result.exit_code == 0
    record = json.loads(result.stdout)
    assert record["passed"]
    assert {"gate": "null answers", "outcome": "ok", "detail": ""} in record["findings"]


def test_the_full_check_needs_bounds(run: Any) -> None:
    assert run("suite", "check", "gemm_n128_k2048", "--full", "--no-bounds").exit_code == 2


def test_the_full_check_derives_every_bound(run: Any) -> None:
    result = run("suite", "check", "rmsnorm_h512", "--full", "--json")
    findings = {each["gate"]: each for each in json.loads(result.stdout)["findings"]}
    assert findings["bound"]["detail"] == "16 workloads"
    assert findings["bound verified"]["outcome"] == "ok"
