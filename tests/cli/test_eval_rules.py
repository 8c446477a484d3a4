"""``solbench eval --rules``: the real judge bounds with a rule of one's own, and the trace says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from solbench.bound import rules_digest
from solbench.cli._schemas import command_schema

jsonschema = pytest.importorskip("jsonschema")
REFERENCE = "import torch\n\n\ndef run(x):\n    return x.put(torch.tensor([0]), x[:1])\n"
RULE = '''
from collections.abc import Iterable

from solbench.bound._lifted import Lifted
from solbench.bound.rules import Call, rule


@rule("aten.put.default")
def put(call: Call) -> Iterable[Lifted]:
    """Anything may land anywhere."""
    yield call.everything()
'''


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "put.py").write_text(RULE)
    return folder


def test_a_bound_is_found_with_the_rule_and_the_trace_tells_its_digest(
    run: Any, problem_folder: Path, rules: Path
) -> None:
    definition = problem_folder / "definition.json"
    document = json.loads(definition.read_text()) | {"reference": REFERENCE}
    definition.write_text(json.dumps(document))
    out = problem_folder / "traces.jsonl"
    arguments = ["eval", problem_folder, "--hardware", "h200", "--workload", "aaaa1", "--out", out]
    result = run(*arguments, "--rules", rules, "--json")
    record = json.loads(result.stdout)
    jsonschema.validate(record, command_schema("eval"))
    assert record["evaluation"]["status"] == "PASSED", record["evaluation"]
    # 256 float32 are read and written at 4.8 TB/s; without the rule there is no bound at all.
    assert record["solbench"]["t_sol_ms"] == pytest.approx(2 * 256 * 4 / 4.8e12 * 1e3)
    assert record["solbench"]["digests"]["rules"] == rules_digest([rules])
    other = run(*arguments, "--resume")
    assert other.exit_code == 2
    assert "--rules" in " ".join(other.stderr.split())


def test_a_rule_that_cannot_be_loaded_ends_the_evaluation_with_its_file(
    run: Any, problem_folder: Path, rules: Path
) -> None:
    (rules / "put.py").write_text("def put(:\n")
    result = run("eval", problem_folder, "--rules", rules, "--json")
    assert result.exit_code == 2
    record = json.loads(result.stdout)
    assert record["file"].endswith("put.py")
    assert "SyntaxError" in record["error"]
