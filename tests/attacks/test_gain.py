"""When an attack gained: the rule, on made-up observations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from solbench.errors import InputError
from solbench.judge.attacks import (
    AttackCase,
    Finding,
    Observation,
    _run,
    gain_of,
    gains,
    load_corpus,
    run_ablation,
)
from solbench.spec import Timing


def passed(low_ms: float, median_ms: float, high_ms: float, verified: bool = True) -> Observation:
    timing = Timing(
        median_ms=median_ms,
        ci_low_ms=low_ms,
        ci_high_ms=high_ms,
        samples=(median_ms,),
        p5_ms=low_ms,
        p95_ms=high_ms,
        dropped=0,
        clock="host",
        verified=verified,
        timer_floor_ms=0.0,
    )
    return Observation("PASSED", timing=timing)


TWIN = passed(9.0, 10.0, 11.0)


def test_a_time_clearly_below_the_twins_is_a_gain() -> None:
    assert "10 ms" in gain_of(passed(4.0, 5.0, 6.0), TWIN, None)


@pytest.mark.parametrize(
    "attack",
    [passed(8.0, 8.5, 9.1), passed(8.9, 9.3, 8.99), passed(11.0, 12.0, 13.0)],
    ids=["intervals touch", "less than a tenth", "slower"],
)
def test_a_time_within_the_noise_is_none(attack: Observation) -> None:
    assert gain_of(attack, TWIN, None) == ""


def test_on_a_busy_machine_the_fastest_samples_tell() -> None:
    wide = Observation("PASSED", timing=TWIN.timing.model_copy(update={"samples": (3.0, 90.0)}))
    assert "3 ms" in gain_of(wide, TWIN, None)
    near = Observation("PASSED", timing=TWIN.timing.model_copy(update={"samples": (4.0, 90.0)}))
    assert gain_of(near, TWIN, None) == ""


def test_intervals_tell_nothing_where_the_twin_saw_a_busy_machine() -> None:
    busy = replace(TWIN, flags=("busy_machine",))
    assert gain_of(passed(4.0, 5.0, 6.0), busy, None) == ""
    assert "never below" in gain_of(passed(2.0, 3.0, 4.0), busy, None)
    assert gain_of(replace(passed(4.0, 5.0, 6.0), flags=("busy_machine",)), TWIN, None)


def test_a_time_that_is_not_verified_is_none() -> None:
    assert gain_of(passed(1.0, 1.0, 1.0, verified=False), TWIN, None) == ""


def beside(reference_ms: float, own_ms: float) -> Observation:
    """A submission's time, and the reference's in turns with it."""
    own, reference = (passed(0.99 * ms, ms, 1.01 * ms).timing for ms in (own_ms, reference_ms))
    return Observation("PASSED", timing=own, reference=reference)


def test_a_slower_reference_is_a_gain_of_the_score() -> None:
    assert "35 ms beside it" in gain_of(beside(35.0, 10.0), beside(10.0, 10.0), None)
    assert gain_of(beside(25.0, 10.0), beside(10.0, 10.0), None) == ""


def test_a_reference_that_could_not_be_timed_beside_it_is_a_gain() -> None:
    alone = replace(beside(10.0, 10.0), flags=("reference_not_timed",))
    assert "not beside it" in gain_of(alone, beside(10.0, 10.0), None)
    assert gain_of(alone, alone, None) == ""


def test_load_that_slows_both_is_none() -> None:
    assert gain_of(beside(40.0, 40.0), beside(10.0, 10.0), None) == ""
    assert gain_of(beside(10.0, 10.0), beside(25.0, 25.0), None) == ""


def fastest(own_ms: float, reference_ms: float, floor_ms: float = 0.0) -> Observation:
    """A median of 50 ms on a busy machine, and the fastest samples of submission and reference."""
    seen = replace(beside(50.0, 50.0), flags=("busy_machine",))
    assert seen.timing is not None and seen.reference is not None
    own = {"samples": (own_ms, 50.0), "timer_floor_ms": floor_ms}
    return replace(
        seen,
        timing=seen.timing.model_copy(update=own),
        reference=seen.reference.model_copy(update={"samples": (reference_ms, 50.0)}),
    )


def test_fastest_samples_are_seen_in_proportion_to_the_references() -> None:
    assert "never below 20 ms" in gain_of(fastest(1.0, 10.0), fastest(20.0, 10.0), None)
    assert gain_of(fastest(1.0, 1.0), fastest(20.0, 20.0), None) == ""  # few samples, all delayed
    assert gain_of(fastest(1.0, 30.0), fastest(20.0, 10.0), None)  # it slowed the reference


def test_a_twin_near_the_timers_floor_tells_nothing() -> None:
    assert gain_of(fastest(0.003, 10.0), fastest(0.05, 10.0, floor_ms=0.01), None) == ""
    assert gain_of(fastest(0.003, 10.0), fastest(0.2, 10.0, floor_ms=0.01), None)


def test_a_faster_time_beside_the_same_reference_is_a_gain() -> None:
    assert "8 ms where" in gain_of(beside(10.0, 8.0), beside(10.0, 10.0), None)


def test_wrong_on_held_out_inputs_is_a_gain_whatever_the_time() -> None:
    wrong = Observation("INCORRECT_NUMERICAL")
    assert "held-out" in gain_of(passed(9.0, 10.0, 11.0), TWIN, wrong)


def test_passing_through_a_wall_is_a_gain() -> None:
    assert gain_of(TWIN, TWIN, None, may_pass=False)
    assert gain_of(Observation("REWARD_HACK"), None, None, may_pass=False) == ""


def test_a_judge_without_a_verdict_is_a_gain() -> None:
    assert "no verdict" in gain_of(Observation("ERROR", log="oh"), None, None)


@pytest.mark.parametrize("again", [TWIN, passed(4.0, 5.0, 6.0)], ids=["not again", "again"])
def test_a_gain_by_time_must_show_again(
    monkeypatch: pytest.MonkeyPatch, again: Observation
) -> None:
    case = load_corpus(Path(__file__).parent / "cases", AttackCase)["timing_patched_clock"]
    seen = iter([passed(4.0, 5.0, 6.0), TWIN, again, TWIN])  # attack and twin, twice
    monkeypatch.setattr(_run, "_observe_afresh", lambda *_: next(seen))
    finding = _run.run_attack(None, "timing_patched_clock", case)  # type: ignore[arg-type]
    assert bool(finding.gain) == (again is not TWIN)


def test_policy_and_luck_count_no_gain() -> None:
    found = [
        Finding(str(kind), "timing", kind, TWIN, TWIN, None, ("PASSED",), "a wall", "faster")
        for kind in ("attack", "policy", "probabilistic")
    ]
    assert gains(found) == 1


def test_a_folder_without_cases_and_a_file_without_a_case_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no cases"):
        load_corpus(tmp_path, AttackCase)
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(InputError, match="CASE"):
        load_corpus(tmp_path, AttackCase)


def test_an_unknown_defence_cannot_be_left_out() -> None:
    with pytest.raises(InputError, match="landlock"):
        run_ablation("moat", {})
