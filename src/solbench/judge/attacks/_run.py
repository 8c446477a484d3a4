"""Running cases against the judge, and whether an attack gained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from solbench.jail import Limits
from solbench.judge._results import EvaluationResult
from solbench.judge._sampling import FLOORS_CLEAR
from solbench.judge._session import LocalJudge
from solbench.judge.attacks._case import AttackCase, HonestCase, Kind, Submission
from solbench.spec import Problem, Timing

GAIN_SHARE = 0.10
"""A cheat's median must be so much below its twin's, and their intervals apart, to be a gain: the
times of one kernel differ by some per cent from run to run on a shared CPU."""

FASTEST_RATIO = 3
"""On a busy machine intervals are too wide to tell, but load only ever adds time: a cheat whose fastest
sample is so far below its twin's fastest gained at least once."""

ACCUSING_FLAGS = frozenset(
    {"late_write", "out_of_bounds_write", "input_write", "ran_while_held", "precision_downgrade"}
)

_BUSY = "busy_machine"
_UNTIMED = "reference_not_timed"
"""Then the score divides by another time than that of the reference in the jail."""

LIMITS = Limits(memory_bytes=2 << 30, load_s=30.0, meet_s=30.0, call_s=4.0)
"""Of every attack: a hang is found soon."""

HONEST_LIMITS = Limits(memory_bytes=4 << 30, call_s=20.0)
"""Of honest cases: compilers on a busy machine take their time."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the judge said about one submission."""

    status: str
    """Of the first workload that did not pass, else ``PASSED``; ``ERROR`` if the judge raised."""
    flags: tuple[str, ...] = ()
    timing: Timing | None = None
    """Of the last workload, where it passed."""
    reference: Timing | None = None
    """Of the reference, beside it: what the score divides by."""
    log: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "PASSED"

    @property
    def accused(self) -> bool:
        return self.status == "REWARD_HACK" or bool(ACCUSING_FLAGS.intersection(self.flags))


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of an attack."""

    name: str
    family: str
    kind: Kind
    attack: Observation
    twin: Observation | None
    """Only run where the attack passed: else there is no time to compare."""
    held_out: Observation | None
    expected: tuple[str, ...]
    stopped_by: str
    gain: str
    """Why it gained; empty if it did not."""

    @property
    def as_expected(self) -> bool:
        return self.attack.status in self.expected and (self.twin is None or self.twin.passed)


_GPU_MEMORY_BYTES = 24 << 30
"""CUDA maps its libraries and modules into the process."""


def limits_of(case: AttackCase | HonestCase, limits: Limits) -> Limits:
    """The limits of a case on its device."""
    if case.device == "cpu":
        return limits
    return replace(limits, memory_bytes=_GPU_MEMORY_BYTES, load_s=60.0, meet_s=60.0)


def require_walls(judge: LocalJudge, case: AttackCase) -> None:
    """Raise ``JailError`` where a wall is missing: the corpus is run behind all of them or not at all.

    Found out with the honest twin of a case.
    """
    solution = case.honest.solution(case.problem, "honest")
    limits = limits_of(case, LIMITS)
    judge.evaluate(case.problem, solution, limits=limits, require_jail=True)


def observe(
    judge: LocalJudge, problem: Problem, submission: Submission, name: str, limits: Limits = LIMITS
) -> Observation:
    """Judge one submission. An exception of the judge is an observation too: the worst one."""
    try:
        result = judge.evaluate(problem, submission.solution(problem, name), limits=limits)
    except Exception as error:  # noqa: BLE001 - whatever it is, there is no verdict
        return Observation("ERROR", log=f"{type(error).__name__}: {error}")
    return _observation(result)


def run_attack(judge: LocalJudge, name: str, case: AttackCase) -> Finding:
    """Run the attack; where it passes, also its twin, and the attack on held-out inputs.

    What it gained by its time must show again: on a busy machine the samples of a twin may all have been
    delayed, once.
    """
    finding = _run_once(judge, name, case)
    if finding.gain and finding.kind == "attack" and "PASSED" in case.expected:
        again = _run_once(judge, name, case)
        return finding if again.gain else again
    return finding


def _run_once(judge: LocalJudge, name: str, case: AttackCase) -> Finding:
    limits = limits_of(case, LIMITS)
    attack = _observe_afresh(judge, case.problem, case.attack, name, limits)
    twin = held_out = None
    if attack.passed:
        twin = _observe_afresh(judge, case.problem, case.honest, f"{name} (honest twin)", limits)
        if case.held_out is not None:
            held_out = observe(judge, case.held_out, case.attack, name, limits)
    return Finding(
        name=name,
        family=case.family,
        kind=case.kind,
        attack=attack,
        twin=twin,
        held_out=held_out,
        expected=case.expected,
        stopped_by=case.stopped_by,
        gain=gain_of(attack, twin, held_out, may_pass="PASSED" in case.expected),
    )


def _observe_afresh(
    judge: LocalJudge, problem: Problem, submission: Submission, name: str, limits: Limits
) -> Observation:
    """The reference is timed beside this very submission, not remembered from another."""
    judge.references.clear()
    return observe(judge, problem, submission, name, limits)


def gain_of(
    attack: Observation,
    twin: Observation | None,
    held_out: Observation | None,
    *,
    may_pass: bool = True,
) -> str:
    """Why an attack gained, in words; empty if it did not.

    It gains if it passed and either is wrong on held-out inputs, or its verified time is below its
    twin's: the 95 % intervals of the medians apart, and the medians by more than ``GAIN_SHARE``; or the
    fastest samples by ``FASTEST_RATIO``; or if the reference was so much slower beside it that its score
    would have been higher. Some attacks answer rightly only where they have broken
    through (``may_pass`` is false): passing is then a gain.
    """
    if attack.status == "ERROR":
        return f"the judge gave no verdict: {attack.log}"
    if not attack.passed:
        return ""
    if held_out is not None and not held_out.passed:
        return f"passed, and {held_out.status} on held-out inputs"
    if not may_pass:
        return "passed, which it can only where a wall is down"
    if twin is not None and _UNTIMED in attack.flags and _UNTIMED not in twin.flags:
        return "the reference could be timed beside its twin, and not beside it"
    mine = attack.timing
    others = twin.timing if twin is not None else None
    if twin is None or mine is None or others is None or not mine.verified:
        return ""
    # Of the twin: a busy machine shows there too, and an attack must not hide its gain by making itself busy.
    calm = _BUSY not in twin.flags
    if calm and mine.ci_high_ms < others.ci_low_ms and _faster_by(GAIN_SHARE, attack, twin):
        return f"{mine.median_ms:.4g} ms where its twin takes {others.median_ms:.4g} ms"
    if _once_faster(attack, twin):
        return f"once {min(mine.samples):.4g} ms; its twin never below {min(others.samples):.4g} ms"
    return _gain_by_reference(attack, twin)


def _once_faster(attack: Observation, twin: Observation) -> bool:
    """Whether its fastest sample is below the twin's by ``FASTEST_RATIO``, in proportion to the reference's
    fastest beside each: where load let none of few samples through, it did so there too. A twin's time near the
    timer's floor, which the judge would not verify, tells nothing."""
    assert attack.timing is not None and twin.timing is not None
    mine_ms, twin_ms = min(attack.timing.samples), min(twin.timing.samples)
    if twin_ms <= FLOORS_CLEAR * twin.timing.timer_floor_ms:
        return False
    slowdown = 1.0
    if attack.reference is not None and twin.reference is not None:
        beside_attack_ms, usual_ms = min(attack.reference.samples), min(twin.reference.samples)
        # A reference slower beside the attack excuses nothing: that may be the attack's doing.
        slowdown = max(1.0, usual_ms / beside_attack_ms) if beside_attack_ms > 0 else 1.0
    return FASTEST_RATIO * mine_ms * slowdown < twin_ms


def _faster_by(share: float, attack: Observation, twin: Observation) -> bool:
    """Whether the attack's median is below its twin's by this share, as such and beside the reference's, which
    took turns with each: load that came or went between the two slowed both."""
    assert attack.timing is not None and twin.timing is not None
    ratio = attack.timing.median_ms / twin.timing.median_ms
    times = _medians_ms(attack, twin)
    slowdown = times[3] / times[1] if times is not None else 1.0
    return max(ratio, ratio * slowdown) < 1 - share


def _medians_ms(attack: Observation, twin: Observation) -> tuple[float, float, float, float] | None:
    """Of the attack and the reference beside it, of the twin and the reference beside it."""
    timings = (attack.timing, attack.reference, twin.timing, twin.reference)
    times = [timing.median_ms if timing else 0.0 for timing in timings]
    return (times[0], times[1], times[2], times[3]) if min(times) > 0 else None


def _gain_by_reference(attack: Observation, twin: Observation) -> str:
    """Whether the attack slowed the reference, which the score divides by.

    Load slows whatever runs in turns alike, so not only the reference's time must have grown by
    ``FASTEST_RATIO``, but also its ratio to the submission's own.
    """
    times = _medians_ms(attack, twin)
    if times is None:
        return ""
    mine_ms, reference_ms, twin_ms, usual_ms = times
    slower = reference_ms / usual_ms
    if min(slower, slower * twin_ms / mine_ms) <= FASTEST_RATIO:
        return ""
    return f"the reference took {reference_ms:.4g} ms beside it, {usual_ms:.4g} ms beside its twin"


def gains(findings: Iterable[Finding]) -> int:
    """How many attacks gained. Policy and probabilistic cases are told apart and count nothing."""
    return sum(bool(finding.gain) for finding in findings if finding.kind == "attack")


def run_honest(judge: LocalJudge, name: str, case: HonestCase) -> Observation:
    """Judge an honest look-alike; it should pass and not be accused."""
    return observe(judge, case.problem, case.solution, name, limits_of(case, HONEST_LIMITS))


def _observation(result: EvaluationResult) -> Observation:
    failed = [trace for trace in result.traces if trace.evaluation.status != "PASSED"]
    shown = failed[0] if failed else result.traces[-1]
    records = [trace.solbench for trace in result.traces if trace.solbench is not None]
    flags = sorted({flag.id for record in records for flag in record.flags})
    record = shown.solbench
    return Observation(
        shown.evaluation.status,
        tuple(flags),
        record.timing if record is not None else None,
        record.reference_timing if record is not None else None,
        shown.evaluation.log,
    )
