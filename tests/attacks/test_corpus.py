"""The attacks that take little time, each with its outcome.

``solbench attacks run`` runs them all, and measures whether those that pass gain.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from solbench.judge import Judge
from solbench.judge.attacks import AttackCase, load_corpus, observe, runnable

pytestmark = pytest.mark.xdist_group("judge")

CORPUS = load_corpus(Path(__file__).parent / "cases", AttackCase)

SLOW = {
    "tamper_memory", "tamper_page_garbage", "tamper_thread_flood", "tamper_symlink_flood",
    "tamper_endless_recursion", "tamper_fake_tensor", "tamper_main_thread_gone",
    "tamper_page_tables", "tamper_shared_memory", "tamper_deep_folder",
    "tamper_stops_itself", "tamper_ignored_signals",
    "timing_slow_warm_up", "timing_slow_baseline", "timing_acknowledged_in_advance",
}  # fmt: skip
"""They cost seconds each: a time-out, or thousands of threads."""

FAILING = {
    name: case
    for name, case in CORPUS.items()
    if case.device == "cpu"
    and case.kind == "attack"
    and "PASSED" not in case.expected
    and name not in SLOW
}


TWINS = {
    case.problem.digest + case.honest.source: name
    for name, case in CORPUS.items()
    if case.device == "cpu"
}.values()
"""Each once: many cases share theirs."""


@pytest.mark.parametrize("name", FAILING)
def test_an_attack_has_its_verdict(judge: Judge, name: str) -> None:
    case = FAILING[name]
    seen = observe(judge, case.problem, case.attack, name)
    assert seen.status in case.expected, seen.log
    assert not set(seen.log) & set("\x1b\r\x00")
    assert case.flag in ("", *seen.flags)


def test_the_judge_is_unharmed_by_all_of_them(judge: Judge) -> None:
    case = CORPUS["theft_untouched_output"]
    assert observe(judge, case.problem, case.honest, "honest").passed


@pytest.mark.parametrize("name", TWINS)
def test_an_honest_twin_passes(judge: Judge, name: str) -> None:
    case = CORPUS[name]
    seen = observe(judge, case.problem, case.honest, name)
    assert seen.passed, seen.log
    assert not seen.accused, seen.flags


def test_every_family_is_there_and_says_what_stops_it() -> None:
    families = {case.family for case in CORPUS.values()}
    assert families == {
        "timing", "answer theft", "caching", "precision", "input and stage",
        "degenerate problems", "tampering", "concurrency and fallback",
    }  # fmt: skip
    assert all(case.stopped_by and case.behaviour and case.expected for case in CORPUS.values())
    assert len(FAILING) >= 100


def test_every_behaviour_has_a_case_and_every_case_a_behaviour() -> None:
    text = (Path(__file__).parent / "behaviours.toml").read_text()
    listed = [
        name
        for family in tomllib.loads(text).values()
        for names in family.values()
        for name in names
    ]
    assert all(names for family in tomllib.loads(text).values() for names in family.values())
    assert set(listed) == set(CORPUS)


def test_cases_of_a_gpu_are_left_out_here_and_counted() -> None:
    chosen, left_out = runnable(CORPUS, "cpu")
    assert len(chosen) + len(left_out) == len(CORPUS)
    assert sum(reason == "for device cuda" for reason in left_out.values()) >= 26


def test_a_case_is_one_small_file_that_explains_itself() -> None:
    for path in (Path(__file__).parent / "cases").glob("*.py"):
        text = path.read_text()
        assert ast.get_docstring(ast.parse(text)), path
        assert path.name.startswith("_") or len(text.splitlines()) < 110, path
