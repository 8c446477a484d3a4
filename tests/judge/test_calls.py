import pytest
import torch

from solbench.errors import ReferenceFailed
from solbench.jail import Reply
from solbench.jail.protocol import Command, Status
from solbench.judge._calls import Participant, Round
from solbench.judge._device import Run


def play(fakes, *workers, seeds=(1,), poison="zeros", first=0):
    run = Run(0, first, len(seeds))
    players = [Participant(worker, fakes.arena()) for worker in workers]
    return Round(fakes.device, fakes.oracle, run, seeds, poison, 1.0).play(players), players


def test_inputs_come_into_being_after_the_hold_and_answers_after_the_release(fakes):
    play(fakes, fakes.worker(fakes.right))
    assert fakes.device.events == [
        "hold", "inputs", "fill", "poison zeros", "flush", "still held?", "release", "expected",
        "still held?",
    ]  # fmt: skip


def test_of_two_workers_neither_runs_before_both_are_held_and_laid_out(fakes):
    play(fakes, fakes.worker(fakes.right), fakes.worker(fakes.right))
    events = fakes.device.events
    assert events[:3] == ["hold", "hold", "inputs"]
    acts = [event for event in events if event != "still held?"]
    assert acts[-5:] == ["flush", "release", "flush", "release", "expected"]


def test_latency_is_of_one_call(fakes):
    (outcome,), _ = play(fakes, fakes.worker(fakes.right, 3.0), seeds=(1, 2, 3))
    assert outcome.failure is None
    assert outcome.latency_ms == 3.0
    assert len(outcome.gates) == 3


def test_every_slot_of_a_batch_is_compared(fakes):
    calls = iter(range(100))

    def wrong_third(inputs, outputs):
        outputs["y"].copy_(inputs["x"] * (3 if next(calls) == 2 else 2))

    (outcome,), _ = play(fakes, fakes.worker(wrong_third), seeds=(1, 2, 3))
    assert outcome.failure is not None
    assert outcome.failure.status == "INCORRECT_NUMERICAL"


def test_an_answer_to_the_previous_inputs_is_wrong(fakes):
    kept = {}

    def cached(inputs, outputs):
        kept.setdefault("y", inputs["x"] * 2)
        outputs["y"].copy_(kept["y"])

    worker = fakes.worker(cached)
    (first,), _ = play(fakes, worker, seeds=(1,))
    (second,), _ = play(fakes, worker, seeds=(2,))
    assert first.failure is None
    assert second.failure is not None


def test_doing_nothing_is_wrong_even_on_a_slot_that_was_right_before(fakes):
    arena = fakes.arena()
    turns = iter([fakes.right, lambda inputs, outputs: None])
    worker = fakes.worker(lambda inputs, outputs: next(turns)(inputs, outputs))
    for expected in (True, False):
        play_round = Round(fakes.device, fakes.oracle, Run(0, 0, 1), [5], "zeros", 1.0)
        (outcome,) = play_round.play([Participant(worker, arena)])
        assert (outcome.failure is None) is expected


def test_a_late_write_is_a_hack_however_right_the_output(fakes):
    fakes.device.late_write = "3 of 256"
    (outcome,), _ = play(fakes, fakes.worker(fakes.right))
    assert outcome.failure.status == "REWARD_HACK"
    assert outcome.failure.fatal
    assert outcome.failure.flags[0].id == "late_write"


def test_a_write_beyond_an_output_fails(fakes):
    def beyond(inputs, outputs):
        fakes.right(inputs, outputs)
        y = outputs["y"]
        torch.as_strided(y, (len(y) + 1,), (1,))[-1] = 1.0

    (outcome,), _ = play(fakes, fakes.worker(beyond))
    assert outcome.failure.status == "RUNTIME_ERROR"
    assert outcome.failure.flags[0].id == "out_of_bounds_write"


@pytest.mark.parametrize("command", [Command.ARM, Command.RUN])
def test_one_worker_that_dies_does_not_stop_the_other(fakes, command):
    dead = fakes.worker(fakes.right)
    dead.replies[command] = Reply("died", detail="signal 11")
    outcomes, _ = play(fakes, dead, fakes.worker(fakes.right))
    assert outcomes[0].failure.status == "RUNTIME_ERROR"
    assert "signal 11" in outcomes[0].failure.reason
    assert outcomes[1].failure is None


@pytest.mark.parametrize(
    ("reply", "status", "fatal"),
    [
        (Reply("timeout"), "TIMEOUT", True),
        (Reply("memory"), "RUNTIME_ERROR", True),
        (Reply("done", Status.CALL_RAISED), "RUNTIME_ERROR", False),
        (Reply("done", Status.WRONG_SHAPE), "INCORRECT_SHAPE", False),
        (Reply("done", Status.WRONG_COUNT), "INCORRECT_SHAPE", False),
        (Reply("done", Status.WRONG_DTYPE), "INCORRECT_DTYPE", False),
        (Reply("done", Status.NOT_A_TENSOR), "INCORRECT_DTYPE", False),
        (Reply("done", 4711), "RUNTIME_ERROR", False),
    ],
)
def test_every_reply_has_its_verdict(fakes, reply, status, fatal):
    worker = fakes.worker(fakes.right)
    worker.replies[Command.RUN] = reply
    (outcome,), _ = play(fakes, worker)
    assert (outcome.failure.status, outcome.failure.fatal) == (status, fatal)


def test_a_failing_reference_is_its_own_error(fakes):
    fakes.oracle.fails = True
    with pytest.raises(ReferenceFailed, match="ValueError"):
        play(fakes, fakes.worker(fakes.right))


def test_an_unchecked_participant_is_timed_and_not_compared(fakes):
    reference = Participant(fakes.worker(lambda inputs, outputs: None), fakes.arena(), False)
    candidate = Participant(fakes.worker(fakes.right), fakes.arena())
    play_round = Round(fakes.device, fakes.oracle, Run(0, 0, 1), [5], "zeros", 1.0)
    checked, unchecked = play_round.play([candidate, reference])
    assert (len(checked.gates), len(unchecked.gates)) == (1, 0)
    assert unchecked.failure is None
    assert unchecked.latency_ms == 1.0


def test_a_worker_that_wakes_itself_is_caught_whatever_its_output(fakes):
    fakes.device.awake = "3 became 4"
    (outcome,), _ = play(fakes, fakes.worker(fakes.right))
    assert outcome.failure.status == "REWARD_HACK"
    assert "release" not in fakes.device.events


def test_a_worker_that_someone_kills_while_it_is_stopped_has_died_and_not_cheated(fakes):
    worker = fakes.worker(fakes.right)
    fakes.device.awake, worker.killed_by = "3 became 4", Reply("died", detail="signal 9")
    (outcome,), _ = play(fakes, worker)
    assert (outcome.failure.status, outcome.failure.fatal) == ("RUNTIME_ERROR", True)
    assert "signal 9" in outcome.failure.reason
