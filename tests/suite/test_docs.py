"""The pages on the suite say what is true: the worked example is let in, the counts are those of the files."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from solbench.suite import read_problem_file
from solbench.suite.admission import check_problem

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "add-a-problem.md"


def test_the_worked_example_passes_every_gate(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "head_rmsnorm.py"
    file.write_text(code, encoding="utf-8")
    (source,) = read_problem_file(file)
    check = check_problem(source)
    assert [(f.gate, f.outcome, f.detail) for f in check.findings if f.outcome != "ok"] == []


def test_the_composition_page_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("suite_docs", ROOT / "scripts/_suite_docs.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    page = (ROOT / "docs/suite-composition.md").read_text(encoding="utf-8")
    assert page == generator.document(), "run scripts/docs"
