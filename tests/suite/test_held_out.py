"""Held-out workloads: sizes no one has published, within what the published ones promise."""

from __future__ import annotations

import pytest

from solbench import suite
from solbench.errors import InputError
from solbench.suite._held_out import held_out_of
from solbench.suite.admission._held_out import held_out_sizes_are_served


def sizes(problem) -> list[dict[str, int]]:
    return [dict(workload.axes) for workload in problem.workloads]


def test_the_secret_decides_the_sizes() -> None:
    first = suite.held_out("rmsnorm_h128", "one", 5)
    assert sizes(first) == sizes(suite.held_out("rmsnorm_h128", "one", 5))
    assert sizes(first) != sizes(suite.held_out("rmsnorm_h128", "two", 5))
    assert first.definition == suite.load("rmsnorm_h128").definition


def test_none_is_published_and_none_is_drawn_twice() -> None:
    published = {workload.uuid for workload in suite.load("rmsnorm_h128").workloads}
    drawn = [workload.uuid for workload in suite.held_out("rmsnorm_h128", "one", 20).workloads]
    assert len(set(drawn)) == 20
    assert not published & set(drawn)


def test_sizes_stay_near_a_published_one_and_keep_their_common_divisor(problem_file) -> None:
    # Published: 64, 512 and the smoke sizes 32, 8: eight divides all, so every drawn size too.
    source = problem_file(
        'rows("tokens", 1, 16, 300)',
        'rows("tokens", 64, 512)',
        "(3, 16), (8, 32)",
        "(32, 16), (8, 32)",
    )
    drawn = [each["tokens"] for each in sizes(held_out_of(source, "s", 8))]
    assert all(each % 8 == 0 for each in drawn)
    assert all(40 <= each <= 64 or 312 <= each <= 512 for each in drawn)  # 0.6 of 64 is 38.4


def test_constant_axes_are_not_varied(problem_file) -> None:
    assert {each["hidden"] for each in sizes(held_out_of(problem_file(), "s", 2, smoke=True))} <= {
        16, 32,
    }  # fmt: skip


def test_constraints_hold(problem_file) -> None:
    source = problem_file(
        "    outputs={",
        '    constraints=("tokens % 5 == 0",),\n    outputs={',
        "1, 16, 300",
        "15, 300",
    )
    assert all(each["tokens"] % 5 == 0 for each in sizes(held_out_of(source, "s", 4)))


def test_only_named_axes_vary(problem_file) -> None:
    source = problem_file("    outputs={", "    held_out_axes=(),\n    outputs={")
    with pytest.raises(InputError, match="no room for 1 held-out workloads, only for 0"):
        held_out_of(source, "s", 1)


def test_the_admission_test_finds_a_reference_that_only_serves_published_sizes(
    problem_file,
) -> None:
    served = held_out_sizes_are_served(problem_file())
    assert served.outcome == "ok"
    source = problem_file(
        "return x * w * factor", "return (x * w * factor)[: None if len(x) in (3, 8) else 1]"
    )
    assert held_out_sizes_are_served(source).outcome == "failed"
