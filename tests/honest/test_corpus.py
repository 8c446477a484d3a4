"""Honest solutions that look like cheats: all pass, none is accused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from solbench.judge import Budget, Judge, StopRule
from solbench.judge.attacks import HonestCase, load_corpus, run_honest, runnable

pytestmark = pytest.mark.xdist_group("judge")

CORPUS = load_corpus(Path(__file__).parent / "cases", HonestCase)
HERE, LEFT_OUT = runnable(CORPUS, "cpu")
_BRIEF = StopRule(minimum=8, least=4, seconds=0.1, relative=0.05)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge("cpu", budgets={"reward": Budget(_BRIEF, _BRIEF)}) as judge:
        yield judge


@pytest.mark.parametrize("name", HERE)
def test_an_honest_solution_passes_and_is_not_accused(judge: Judge, name: str) -> None:
    case = CORPUS[name]
    if name == "compiled_lazily" and "SOLBENCH_SLOW" not in os.environ:
        pytest.skip("set SOLBENCH_SLOW=1: compiles for twenty seconds")
    seen = run_honest(judge, name, case)
    assert seen.passed, seen.log
    assert not seen.accused, seen.flags


def test_there_are_many_of_them_for_both_devices() -> None:
    devices = [case.device for case in CORPUS.values()]
    assert devices.count("cpu") >= 40
    assert devices.count("cuda") >= 14
