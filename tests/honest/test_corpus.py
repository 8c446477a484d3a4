"""Honest solutions that look like cheats: all pass, none is accused."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from solbench.judge import Budget, Judge, StopRule
from solbench.judge.attacks import HonestCase, load_corpus, run_honest

pytestmark = pytest.mark.xdist_group("judge")

CORPUS = load_corpus(Path(__file__).parent / "cases", HonestCase)
_BRIEF = StopRule(minimum=8, least=4, seconds=0.1, relative=0.05)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge("cpu", budgets={"reward": Budget(_BRIEF, _BRIEF)}) as judge:
        yield judge


@pytest.mark.parametrize("name", CORPUS)
def test_an_honest_solution_passes_and_is_not_accused(judge: Judge, name: str) -> None:
    case = CORPUS[name]
    if name == "compiled_lazily" and "SOLBENCH_SLOW" not in os.environ:
        pytest.skip("set SOLBENCH_SLOW=1: compiles for twenty seconds")
    if case.needs and not (shutil.which(case.needs) or importlib.util.find_spec(case.needs)):
        pytest.skip(f"needs {case.needs}")
    seen = run_honest(judge, name, case)
    assert seen.passed, seen.log
    assert not seen.accused, seen.flags
