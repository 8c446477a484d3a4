import itertools
from dataclasses import replace

import pytest

from solbench.jail import Limits, Reply
from solbench.jail.protocol import Command
from solbench.judge._device import Advice
from solbench.judge._floor import NO_FLOOR, TimerFloor
from solbench.judge._measure import Bench, _chosen_samples
from solbench.judge._measurement import Audits, Measurement
from solbench.judge._samples import Series
from solbench.judge._sampling import PerRun
from solbench.judge._seeds import SeedBook
from solbench.judge._statistics import StopRule

RULE = StopRule(minimum=30, least=10, maximum=40, seconds=1.0)
REFERENCE_RULE = StopRule(minimum=10, least=10, relative=0.01)


class Seat:
    """A runner whose worker is at hand."""

    def __init__(self, fakes, worker, arena=None):
        self.worker = worker
        self.arenas = [arena or fakes.arena()]
        self.limits = Limits()
        self.stopped = False

    def stop(self):
        self.worker, self.stopped = None, True


def measure(
    fakes, worker, reference=None, floor=NO_FLOOR, clock=None, rule=RULE, into=None, audits=None
):
    candidate = Seat(fakes, worker)
    other = None
    if reference is not None:
        shared = candidate.arenas[0] if fakes.device.interleaves else None
        arena = type(candidate.arenas[0])(fakes.device.events, fakes.layout, shared)
        other = Seat(fakes, reference, arena)
    into = into or Measurement()
    ticks = itertools.count()
    bench = Bench(
        device=fakes.device,
        oracle=fakes.oracle,
        seeds=SeedBook(),
        floor=floor,
        candidate=candidate,
        reference=other,
        layout=0,
        audits=audits or Audits(),
        clock=clock or (lambda: next(ticks) * 1e-3),
    )
    bench.measure(into, rule, REFERENCE_RULE)
    return into


def test_steady_times_stop_at_thirty_samples(fakes):
    measured = measure(fakes, fakes.worker(fakes.right, 1.0))
    assert measured.failure is None
    assert measured.candidate.kept == [1.0] * 30
    assert measured.gate.passed
    assert "imprecise" not in measured.flags


def test_no_two_calls_share_a_seed(fakes):
    measure(fakes, fakes.worker(fakes.right, 0.04))
    assert len(set(fakes.oracle.seeds)) == len(fakes.oracle.seeds) > 60


def test_short_calls_are_batched_over_half_the_slots(fakes):
    measured = measure(fakes, fakes.worker(fakes.right, 0.04))
    assert measured.calls == 2 + 30 * 2


def test_a_slow_first_call_does_not_shrink_the_batch(fakes):
    slow_start = itertools.chain([50.0], itertools.repeat(0.01))
    worker = fakes.worker(fakes.right, slow_start)
    measured = measure(fakes, worker, fakes.worker(fakes.right, 0.05))
    assert measured.calls == 2 + 2 * len(measured.candidate.kept)


class TestAdvice:
    def advised(self, fakes, busy_ms):
        fakes.device.advises = Advice(kernels=3, busy_ms=busy_ms, log="")
        bench = Bench(
            device=fakes.device,
            oracle=fakes.oracle,
            seeds=SeedBook(),
            floor=NO_FLOOR,
            candidate=Seat(fakes, fakes.worker(fakes.right, 1.0)),
            reference=None,
            layout=0,
        )
        measured = Measurement()
        bench.measure(measured, RULE, REFERENCE_RULE)
        assert "advice" not in fakes.device.events  # a profiler would be in the times
        bench.take_advice(measured)
        return measured

    def test_kernels_that_fit_into_the_time_are_only_noted(self, fakes):
        measured = self.advised(fakes, busy_ms=1.2)
        assert measured.advice.kernels == 3
        assert "claims_disagree" not in measured.flags

    def test_more_work_than_there_was_time_for_is_flagged(self, fakes):
        measured = self.advised(fakes, busy_ms=1.3)
        assert "1.3 ms" in measured.flags["claims_disagree"]


def test_runs_are_as_long_as_the_reference_can_compare_in_time(fakes):
    seat = Seat(fakes, fakes.worker(fakes.right, 1.0))  # four slots, so two calls a run
    into = Measurement(reference=Series(kept=[2.0]))

    def bench(seconds):
        return Bench(
            device=fakes.device,
            oracle=fakes.oracle,
            seeds=SeedBook(),
            floor=NO_FLOOR,
            candidate=seat,
            reference=None,
            layout=0,
            comparison_seconds=seconds,
        )

    # 2 ms a call of the reference
    assert bench(7e-3)._affordable(into) == 3
    assert bench(1e-3)._affordable(into) == 2
    assert bench(float("inf"))._affordable(into) == fakes.layout.slots
    assert bench(1e-3)._affordable(Measurement()) == fakes.layout.slots


class LookingSampling(PerRun):
    """A run of one call and one of two; the run of one is also a call alone."""

    def lengths(self, batch):
        return (1, 2)

    def latency_ms(self, runs, floor):
        return runs[2] - floor.run_ms / 2

    def single_ms(self, runs, floor):
        return runs[1]


def looked_at(fakes, looks):
    """Calls of 0.1 ms by the worker's word, whose outputs are there when the looks say, in ms."""
    fakes.device.sampling = LookingSampling()
    release = fakes.device.release

    def with_look(worker, arena, run, timeout_s):
        passage = release(worker, arena, run, timeout_s)
        looked_ms = 0.3 + (next(looks) if run.count == 1 else 0.1 * run.count)
        return replace(
            passage, elapsed_ms=0.1 * run.count, looked_ms=looked_ms, looked_at_once=True
        )

    fakes.device.release = with_look
    floor = TimerFloor(run_ms=0.0, call_ms=0.0, look_ms=0.3)
    few = StopRule(minimum=4, least=4, maximum=4)
    return measure(fakes, fakes.worker(fakes.right, 0.1), floor=floor, rule=few)


def test_work_that_the_workers_word_does_not_wait_for_shows_in_a_call_alone(fakes):
    measured = looked_at(fakes, itertools.repeat(0.2))
    assert "overlaps_calls" in measured.flags
    assert measured.clocks.ranked == "alone by look"
    # two more, for an interval; and 4 us each, which calls that are not joined leave out
    assert measured.candidate.kept == pytest.approx([0.204] * 6)


def test_looks_that_leave_it_open_are_repeated_until_they_tell(fakes):
    # warm-up takes two; of the four that count one is early, and so leaves it open
    looks = itertools.chain([0.1, 0.1, 0.2, 0.1, 0.2, 0.2], itertools.repeat(0.2))
    measured = looked_at(fakes, looks)
    assert "overlaps_calls" in measured.flags
    # the second smallest is above the limit once the interval leaves out the smallest: nine samples
    assert len(measured.clocks.alone_by_look.kept) == 9


def test_looks_of_an_honest_call_are_not_repeated(fakes):
    measured = looked_at(fakes, itertools.repeat(0.1))
    assert "overlaps_calls" not in measured.flags
    assert len(measured.clocks.alone_by_look.kept) == 4


def test_a_control_that_moves_is_drift(fakes):
    clocks = itertools.chain([1600.0] * 15, itertools.repeat(1800.0))
    fakes.device.readings = lambda: {"watch_sm_clock_mhz": next(clocks), "power_w": next(clocks)}
    measured = measure(fakes, fakes.worker(fakes.right, 1.0))
    assert "'watch_sm_clock_mhz' changed by +12.5%" in measured.flags["drift"]


def test_the_floor_is_subtracted_and_never_goes_below_zero(fakes):
    floor = TimerFloor(run_ms=0.5, call_ms=0.25)
    # two calls a run: 0.25 each, and half of 0.5
    measured = measure(fakes, fakes.worker(fakes.right, 1.0), floor=floor)
    assert measured.candidate.kept == [0.5] * 30
    assert measured.floor_ms == 0.5
    none_left = measure(fakes, fakes.worker(fakes.right, 0.1), floor=floor)
    assert set(none_left.candidate.kept) == {0.0}


def test_the_floor_splits_into_a_part_per_run_and_a_part_per_call():
    floor = PerRun().fit({1: [0.030] * 9, 16: [0.060] * 9})
    assert floor.call_ms == pytest.approx(0.002)
    assert floor.run_ms == pytest.approx(0.028)
    assert floor.share_ms(4) == pytest.approx(0.009)


def test_candidate_and_reference_take_turns(fakes):
    order = []

    def as_candidate(inputs, outputs):
        order.append("a")
        fakes.right(inputs, outputs)

    def as_reference(inputs, outputs):
        order.append("b")
        fakes.right(inputs, outputs)

    measured = measure(fakes, fakes.worker(as_candidate, 30.0), fakes.worker(as_reference, 40.0))
    assert "".join(order[:12]) == "abba" + "abbaabba"
    assert measured.reference.kept[:10] == [40.0] * 10
    assert order.count("a") == 32
    # ten at first, then every fourth round
    assert order.count("b") < 20


def test_a_known_reference_runs_only_now_and_then(fakes):
    into = Measurement(reference=Series([2.0] * 10))
    measured = measure(fakes, fakes.worker(fakes.right), fakes.worker(fakes.right, 2.0), into=into)
    assert len(measured.reference.kept) == 10 + 8


def test_time_runs_out_and_says_so(fakes):
    noisy = itertools.cycle([1.0, 2.0])
    seconds = itertools.count(0, 0.15)
    measured = measure(fakes, fakes.worker(fakes.right, noisy), clock=lambda: next(seconds))
    assert len(measured.candidate.kept) == 10
    assert "10 samples" in measured.flags["imprecise"]


def test_drift_of_the_reference_is_flagged(fakes):
    into = Measurement(reference=Series([1.0] * 10))
    measured = measure(fakes, fakes.worker(fakes.right), fakes.worker(fakes.right, 1.5), into=into)
    assert "+50.0%" in measured.flags["drift"]


def test_wrong_from_the_fiftieth_call_on_is_wrong(fakes):
    calls = itertools.count()

    def honest_for_a_while(inputs, outputs):
        outputs["y"].copy_(inputs["x"] * (2 if next(calls) < 50 else 3))

    measured = measure(fakes, fakes.worker(honest_for_a_while, 0.03))
    assert measured.failure.status == "INCORRECT_NUMERICAL"
    assert measured.failure.gate.first.index == (0,)


def test_relying_on_zeroed_outputs_is_only_flagged(fakes):
    def accumulate(inputs, outputs):
        outputs["y"].add_(inputs["x"] * 2)

    measured = measure(fakes, fakes.worker(accumulate))
    assert measured.failure is None
    assert "relies_on_zeroed_output" in measured.flags


def test_a_call_on_other_outputs_than_promised_says_nothing_about_precision(fakes):
    def accumulate(inputs, outputs):
        outputs["y"].add_(inputs["x"] * 2)

    measured = measure(fakes, fakes.worker(accumulate), audits=Audits(allowed=True))
    assert "relies_on_zeroed_output" in measured.flags
    assert measured.audited[0] == 0  # the poisoned one
    assert measured.precision.calls == len(measured.audited) - 1 > 0
    assert measured.precision.candidate == measured.precision.reference


def test_wrong_on_zeroed_outputs_fails(fakes):
    measured = measure(fakes, fakes.worker(lambda inputs, outputs: outputs["y"].fill_(1.0)))
    assert measured.failure.status == "INCORRECT_NUMERICAL"
    assert not measured.candidate.kept
    assert "relies_on_zeroed_output" not in measured.flags


def test_a_reference_that_dies_is_dropped_and_the_candidate_goes_on(fakes):
    reference = fakes.worker(fakes.right)
    reference.replies[Command.RUN] = Reply("died", detail="signal 9")
    measured = measure(fakes, fakes.worker(fakes.right), reference)
    assert measured.failure is None
    assert len(measured.candidate.kept) == 30
    assert "signal 9" in measured.flags["reference_not_timed"]


class TestDisturbedRuns:
    def test_do_not_count_and_are_still_compared(self, fakes):
        fakes.device.disturbed = itertools.cycle([0.0, 0.0, 0.0, 0.5])
        measured = measure(fakes, fakes.worker(fakes.right, 1.0))
        assert len(measured.candidate.kept) == 30
        assert 9 <= len(measured.candidate.disturbed) <= 10
        assert "busy_machine" not in measured.flags
        wrong = measure(fakes, fakes.worker(lambda inputs, outputs: outputs["y"].fill_(3.0)))
        assert wrong.failure.status == "INCORRECT_NUMERICAL"

    def test_when_nearly_all_are_disturbed_the_flag_says_so_and_it_ends(self, fakes):
        fakes.device.disturbed = itertools.repeat(0.5)
        seconds = itertools.count(0, 0.15)
        measured = measure(fakes, fakes.worker(fakes.right, 1.0), clock=lambda: next(seconds))
        assert measured.failure is None
        assert len(measured.candidate.counted) == 6
        assert "busy_machine" in measured.flags


def test_the_least_disturbed_samples_count_when_there_are_too_few_others():
    series = Series()
    for lost_share, latency_ms in [(0.9, 90.0), (0.0, 1.0), (0.1, 2.0), (0.5, 9.0), (0.2, 3.0)]:
        series.add(latency_ms, lost_share)
    assert series.counted == [1.0, 2.0, 3.0, 9.0, 90.0]
    for _ in range(5):
        series.add(1.0)
    assert series.counted == [1.0] * 6
    assert (len(series), series.dropped) == (10, 4)


def test_slow_calls_on_a_busy_machine_end_with_a_few(fakes):
    fakes.device.disturbed = itertools.repeat(0.5)
    seconds = itertools.count(0, 2.0)
    measured = measure(fakes, fakes.worker(fakes.right, 5000.0), clock=lambda: next(seconds))
    assert len(measured.candidate) == 3


def _series(kept, disturbed):
    return Series([*kept], [(0.5, latency) for latency in disturbed])


@pytest.mark.parametrize(
    ("kept", "disturbed", "others", "doubted"),
    [
        # The median of all twenty is 2 ms, that of the six kept 1 ms; the reference was left alone.
        ([1.0] * 6, [2.0] * 14, ([5.0] * 20, []), True),
        # A busy machine: half of the reference's samples too, and 70 % are not more than twice 50 %.
        ([1.0] * 6, [2.0] * 14, ([5.0] * 10, [9.0] * 10), False),
        # What was dropped was no slower.
        ([1.0] * 6, [1.05] * 14, ([5.0] * 20, []), False),
        # A quarter, no more.
        ([1.0] * 15, [9.0] * 5, ([5.0] * 20, []), False),
        # Nothing to compare with.
        ([1.0] * 6, [2.0] * 14, ([], []), False),
    ],
    ids=["chosen", "busy machine", "no slower", "few", "no reference"],
)
def test_samples_that_a_candidate_may_have_chosen_are_doubted(kept, disturbed, others, doubted):
    evidence = _chosen_samples(_series(kept, disturbed), _series(*others))
    assert bool(evidence) is doubted
    if doubted:
        assert evidence.startswith("70% of its samples") and "1 ms without them, 2 ms" in evidence
