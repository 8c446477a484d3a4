"""The worked example of the page on adding a problem is a problem that is let in."""

from __future__ import annotations

import re
from pathlib import Path

from solbench.suite import read_problem_file
from solbench.suite.admission import check_problem

PAGE = Path(__file__).parent.parent.parent / "docs" / "add-a-problem.md"


def test_the_worked_example_passes_every_gate(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "head_rmsnorm.py"
    file.write_text(code, encoding="utf-8")
    (source,) = read_problem_file(file)
    check = check_problem(source)
    assert [(f.gate, f.outcome, f.detail) for f in check.findings if f.outcome != "ok"] == []
