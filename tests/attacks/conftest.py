"""One judge for the whole corpus: starting costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from solbench.errors import JailError
from solbench.judge import Budget, Judge, StopRule
from solbench.judge.attacks import AttackCase, load_corpus, require_walls

CORPUS = load_corpus(Path(__file__).parent / "cases", AttackCase)

_BRIEF = StopRule(minimum=8, least=4, seconds=0.1, relative=0.05)


@pytest.fixture(scope="package")
def judge() -> Iterator[Judge]:
    with Judge("cpu", budgets={"reward": Budget(_BRIEF, _BRIEF)}) as judge:
        try:
            require_walls(judge, CORPUS["theft_untouched_output"])
        except JailError as error:
            pytest.skip(f"hostile code is only run behind every wall: {error}")
        yield judge
