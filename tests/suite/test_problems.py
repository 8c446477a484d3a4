"""Every bundled problem on its smallest smoke workload; the whole test is ``solbench suite check``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from solbench.suite import Rows, source_of
from solbench.suite.admission import check_problem


def smallest(name: str):
    source = source_of(name)
    smoke = source.problem.smoke
    only = Rows(smoke.axes, smoke.values[:1])
    return replace(source, problem=replace(source.problem, smoke=only))


def all_names() -> list[str]:
    from solbench.suite import names

    return list(names())


@pytest.mark.parametrize("name", all_names())
def test_the_admission_test_lets_it_in(name: str) -> None:
    check = check_problem(smallest(name), bounds="none")
    assert [(f.gate, f.detail) for f in check.findings if f.outcome != "ok"] == []
