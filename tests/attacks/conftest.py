"""One judge for the whole corpus: starting costs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from solbench.judge import Budget, Judge, StopRule

_BRIEF = StopRule(minimum=8, least=4, seconds=0.1, relative=0.05)


@pytest.fixture(scope="package")
def judge() -> Iterator[Judge]:
    with Judge("cpu", budgets={"reward": Budget(_BRIEF, _BRIEF)}) as judge:
        yield judge
