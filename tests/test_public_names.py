"""Every public name says what it is; the examples in its docstring run and print what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import solbench
from solbench.spec import Trace, trace_line

ROOT = Path(__file__).parent.parent
EXCHANGED = {"Solution", "Trace"}
"""Their docstrings are published in JSON schemas; ``load_solution`` and ``read_traces`` show them."""
JUDGING = {"Judge", "EvaluationResult", "evaluate"}
"""Shown on the library's page, whose examples another test runs."""
NAMES = sorted({*solbench.__all__} - {"__version__"})


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_explained(name: str) -> None:
    documented = getattr(solbench, name).__doc__
    assert documented
    assert documented.splitlines()[0].endswith((".", ":")), documented


@pytest.mark.parametrize("name", sorted({*NAMES} - EXCHANGED - JUDGING))
def test_its_example_prints_what_it_says(
    name: str, sample_run: list[Trace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "results.jsonl").write_text("".join(f"{trace_line(t)}\n" for t in sample_run))
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(getattr(solbench, name), name, globs={"solbench": solbench})
    assert test.examples, "there is no example"
    said: list[str] = []
    ran = doctest.DocTestRunner().run(test, out=said.append)
    assert ran.failed == 0, "".join(said)
