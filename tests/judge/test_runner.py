import pytest

from solbench.errors import JailError
from solbench.jail import Artifact, Limits, Reply, Walls
from solbench.jail.protocol import Command, Status
from solbench.judge._runner import Runner, limits_for

ARTIFACT = Artifact("/nowhere", "e.py", "run", "python", True, "digest")


class FakeZygote:
    """Spawns scripted workers: ``script(spawn, command, layout)`` gives a reply or None for ok."""

    def __init__(self, fakes, script):
        self.fakes = fakes
        self.script = script
        self.workers = []

    def spawn(self, plan, buffers):
        worker = self.fakes.worker(self.fakes.right)
        number = len(self.workers)

        def wait(sequence, timeout_s):
            command, layout = worker.commands[sequence - 1]
            return self.script(number, command, layout) or Reply("done")

        worker.wait = wait
        self.workers.append(worker)
        return worker


def make_runner(fakes, script, layouts=3):
    zygote = FakeZygote(fakes, script)
    arenas = [fakes.arena() for _ in range(layouts)]
    return Runner(zygote, fakes.device, ARTIFACT, arenas, Limits()), zygote


def test_a_good_worker_is_loaded_met_and_sealed_once(fakes):
    runner, zygote = make_runner(fakes, lambda *_: None)
    runner.ensure([0, 1, 2])
    runner.ensure([1, 2])
    (worker,) = zygote.workers
    others = fakes.layout.slots - 1
    assert worker.commands == [
        (Command.LOAD, 0),
        *[(Command.MEET, 0), *[(Command.RUN, 0)] * others],
        *[(Command.MEET, 1), *[(Command.RUN, 1)] * others],
        *[(Command.MEET, 2), *[(Command.RUN, 2)] * others],
        (Command.SEAL, 0),
    ]
    assert runner.walls == Walls({"seccomp": ""}, sealed=True)
    assert not runner.failures


def test_throwaway_values_are_shown_before_each_layout_is_met(fakes):
    zygote = FakeZygote(fakes, lambda *_: None)
    shown = []

    def show(layout):
        shown.append((layout, len(zygote.workers[0].commands)))

    arenas = [fakes.arena() for _ in range(2)]
    Runner(zygote, fakes.device, ARTIFACT, arenas, Limits(), show).ensure([0, 1])
    assert shown == [
        (0, 1),
        (1, 1 + fakes.layout.slots),
    ]  # after the load; after all slots of the first


def test_a_worker_whose_values_cannot_be_shown_is_ended(fakes):
    def show(layout):
        raise RuntimeError("no values")

    zygote = FakeZygote(fakes, lambda *_: None)
    runner = Runner(zygote, fakes.device, ARTIFACT, [fakes.arena()], Limits(), show)
    with pytest.raises(RuntimeError, match="no values"):
        runner.ensure([0])
    assert runner.worker is None
    assert zygote.workers[0].killed


def test_a_layout_that_raises_is_left_out_and_the_worker_kept(fakes):
    def script(spawn, command, layout):
        if command == Command.MEET and layout == 1:
            return Reply("done", Status.CALL_RAISED)
        return None

    runner, zygote = make_runner(fakes, script)
    runner.ensure([0, 1, 2])
    assert list(runner.failures) == [1]
    assert runner.failures[1].phase == "prepare"
    assert len(zygote.workers) == 1
    assert runner.worker is not None


def test_where_errors_stick_a_layout_that_raises_costs_the_worker(fakes):
    def script(spawn, command, layout):
        if command == Command.MEET and layout == 1:
            return Reply("done", Status.CALL_RAISED)
        return None

    fakes.device.errors_stick = True
    runner, zygote = make_runner(fakes, script)
    runner.ensure([0, 1, 2])
    assert list(runner.failures) == [1]
    assert len(zygote.workers) == 2
    assert zygote.workers[0].killed
    assert runner.worker is zygote.workers[1]


def test_a_layout_that_kills_is_never_shown_again(fakes):
    def script(spawn, command, layout):
        return Reply("died", detail="signal 11") if (command, layout) == (Command.MEET, 1) else None

    runner, zygote = make_runner(fakes, script)
    runner.ensure([0, 1, 2])
    first, second = zygote.workers
    assert first.killed
    assert (Command.MEET, 1) not in second.commands
    assert {0, 2} == {layout for command, layout in second.commands if command == Command.MEET}
    assert "signal 11" in runner.failures[1].reason


def test_a_load_that_fails_is_every_workloads_failure(fakes):
    def script(spawn, command, layout):
        return Reply("done", Status.LOAD_FAILED) if command == Command.LOAD else None

    runner, zygote = make_runner(fakes, script)
    runner.ensure([0, 1, 2])
    assert set(runner.failures) == {0, 1, 2}
    assert runner.worker is None
    assert len(zygote.workers) == 1
    assert runner.log_tail() == "printed"


@pytest.mark.parametrize("kind", ["died", "timeout", "memory"])
def test_when_every_layout_kills_each_costs_one_worker(fakes, kind):
    runner, zygote = make_runner(
        fakes, lambda spawn, command, layout: Reply(kind) if command == Command.MEET else None
    )
    runner.ensure([0, 1, 2])
    assert set(runner.failures) == {0, 1, 2}
    assert len(zygote.workers) == 3
    assert all(worker.killed for worker in zygote.workers)


def test_a_seal_that_fails_ends_it(fakes):
    runner, zygote = make_runner(
        fakes,
        lambda spawn, command, layout: Reply("died") if command == Command.SEAL else None,
    )
    runner.ensure([0, 1])
    assert set(runner.failures) == {0, 1}
    assert runner.failures[0].phase == "seal"
    assert len(zygote.workers) == 1


def test_after_a_stop_a_fresh_worker_meets_only_what_is_wanted(fakes):
    runner, zygote = make_runner(fakes, lambda *_: None)
    runner.ensure([0, 1, 2])
    runner.stop()
    runner.ensure([2])
    assert zygote.workers[0].killed
    met = [layout for command, layout in zygote.workers[1].commands if command == Command.MEET]
    assert met == [2]


def test_given_limits_count_and_defaults_grow_with_the_buffers(fakes):
    arenas = [fakes.arena()]
    own = Limits(memory_bytes=1)
    assert limits_for(fakes.device, arenas, own) is own
    assert limits_for(fakes.device, arenas, None).memory_bytes == Limits().memory_bytes
    shorter = limits_for(fakes.device, arenas, own, timeout_s=2.5)
    assert (shorter.call_s, shorter.meet_s, shorter.load_s) == (2.5, 2.5, own.load_s)
    assert shorter.memory_bytes == own.memory_bytes


def test_a_spawn_that_fails_once_is_tried_again_and_one_that_fails_twice_is_an_error(fakes):
    runner, zygote = make_runner(fakes, lambda *_: None)
    spawn, failures = zygote.spawn, iter([True, False, True, True])

    def unreliable(plan, buffers):
        if next(failures):
            raise JailError("the zygote is gone")
        return spawn(plan, buffers)

    zygote.spawn = unreliable
    runner.ensure([0])
    assert runner.worker is not None
    runner.stop()
    with pytest.raises(JailError, match="gone"):
        runner.ensure([0])
