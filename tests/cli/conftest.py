"""Running the command line in process, at 80 columns."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from solbench.cli import app

Run = Callable[..., Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("check", path)`` gives a result with ``exit_code``, ``stdout`` and ``stderr``."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def invoke(*arguments: object) -> Any:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


REFERENCE = "import torch\n\n\ndef run(x):\n    return x + x\n"
DEFINITION = {
    "name": "double",
    "axes": {"n": {"type": "var"}},
    "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
    "reference": REFERENCE,
}
SOLUTION = {
    "name": "double_add",
    "definition": "double",
    "author": "tests",
    "spec": {
        "languages": ["pytorch"],
        "target_hardware": ["LOCAL"],
        "entry_point": "main.py::run",
        "destination_passing_style": False,
    },
    "sources": [{"path": "main.py", "content": REFERENCE}],
}
UUIDS = ("aaaa1111-0000-4000-8000-000000000001", "aaaa2222-0000-4000-8000-000000000002")


@pytest.fixture
def problem_folder(tmp_path: Path) -> Path:
    """A tiny problem with two workloads, and ``solution.json`` beside it."""
    folder = tmp_path / "double"
    folder.mkdir()
    (folder / "definition.json").write_text(json.dumps(DEFINITION))
    lines = [
        {"uuid": uuid, "axes": {"n": 256 * 4**number}, "inputs": {"x": {"type": "random"}}}
        for number, uuid in enumerate(UUIDS)
    ]
    (folder / "workload.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "solution.json").write_text(json.dumps(SOLUTION))
    return folder
