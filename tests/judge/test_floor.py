"""What an empty solution shows, by workers that are there one at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from solbench.errors import JailError
from solbench.judge import LocalJudge, _canaries, _floor
from solbench.judge._floor import EmptyWorker, TimerFloor, measure_floor
from solbench.judge._phases import Phases

pytestmark = pytest.mark.xdist_group("judge")


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalJudge]:
    monkeypatch.setattr(_canaries, "prove", lambda *_: None)
    monkeypatch.setattr(_floor, "_ROUNDS", 2)
    with LocalJudge("cpu") as made:
        yield made


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What becomes of empty workers, in order."""
    seen: list[str] = []
    really = {name: getattr(EmptyWorker, name) for name in ("__init__", "passages", "close")}

    def noting(name: str, event: str) -> None:
        def note(self: EmptyWorker, *arguments: object) -> object:
            seen.append(event)
            return really[name](self, *arguments)

        monkeypatch.setattr(EmptyWorker, name, note)

    noting("__init__", "fork")
    noting("passages", "run")
    noting("close", "end")
    return seen


def test_a_queue_is_calibrated_by_three_workers_one_after_another(
    judge: LocalJudge, events: list[str]
) -> None:
    judge.device.queues = True
    assert judge.floor.run_ms + judge.floor.call_ms > 0
    assert events == 3 * ["fork", "run", "end"]


def test_where_workers_take_a_while_the_first_is_forked_ahead_and_once(
    judge: LocalJudge, events: list[str]
) -> None:
    judge.device.queues = True
    judge.warm_up()
    judge.warm_up()
    assert events == ["fork"]
    assert isinstance(judge.floor, TimerFloor)
    assert events == 3 * ["fork", "run", "end"]
    judge.warm_up()  # the floor is known
    assert len(events) == 9


def test_elsewhere_none_is_forked_ahead(judge: LocalJudge, events: list[str]) -> None:
    judge.warm_up()
    assert events == []
    judge.floor  # noqa: B018 - measured when it is asked for
    assert events == ["fork", "run", "end"]


def test_one_that_was_forked_ahead_and_is_not_needed_ends_with_its_judge(
    events: list[str],
) -> None:
    with LocalJudge("cpu") as judge:
        judge.device.queues = True
        judge.warm_up()
    assert events == ["fork", "end"]


def test_one_that_cannot_be_forked_ahead_is_no_failure_before_it_is_needed(
    judge: LocalJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise JailError("no more processes")

    judge.device.queues = True
    monkeypatch.setattr(judge.zygote, "spawn", fail)
    judge.warm_up()
    with pytest.raises(JailError, match="no more processes"):
        judge.floor  # noqa: B018 - measured when it is asked for


def test_one_that_was_lost_meanwhile_is_replaced(judge: LocalJudge, events: list[str]) -> None:
    ahead = EmptyWorker(judge.zygote, judge.device)
    worker = ahead._runner.worker
    assert worker is not None
    worker.kill()
    floor = measure_floor(judge.zygote, judge.device, Phases(), ahead)
    assert floor.run_ms + floor.call_ms > 0
    assert events == ["fork", "run", "end", "fork", "run", "end"]


def test_an_empty_solution_that_cannot_run_stops_the_judge(
    judge: LocalJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_floor._BODIES, "cpu", "    raise ValueError('broken')")
    with pytest.raises(JailError, match=r"the empty solution cannot run: the call raised"):
        judge.floor  # noqa: B018 - measured when it is asked for
