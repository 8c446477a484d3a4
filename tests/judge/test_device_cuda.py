"""The drain clock's order of steps, on a fake worker, a fake watch and buffers on the host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from solbench.errors import DeviceError
from solbench.jail import Command, Reply
from solbench.jail.cuda_driver import CudaDriverError
from solbench.jail.protocol import Layout, Status, TensorField
from solbench.judge._arena_cuda import CudaArena, CudaMemory
from solbench.judge._card_cuda import refuse_shared_contexts
from solbench.judge._device import Run
from solbench.judge._device_cuda import CudaDevice
from solbench.judge._monitor_nvml import Reading
from solbench.judge._watch import LIMIT_NS, Watched

RUN = Run(layout=0, first=0, count=4)
QUIET = Watched(0, 300_000, longest_gap_ns=1100, gaps=0, gaps_ns=0, cycles=594_000)
DISTURBED = Watched(0, 4_500_000, 2_400_000, 1, 2_400_000, 4_000_000)
CUT = Watched(0, LIMIT_NS + 1, 1100, 0, 0, 100_000_000)


class QueueWorker:
    """Answers a QUEUE at once, or only after the judge has released it."""

    pid = 4711

    def __init__(self, events: list[Any], queues: bool = True) -> None:
        self.events = events
        self.queues = queues
        self.claimed = [0] * 256
        self.fills = 256
        """Calls that the launch queue takes."""
        self.at_finish: Any = lambda: None
        self.silent = 0
        """Looks for the stream's word that find nothing."""
        self.answer = Reply("done", seen_ns=10**18)

    def command(self, command: Command, *, layout: int = 0, first: int = 0, count: int = 1) -> int:
        self.events.append(command)
        if command == Command.QUEUE:
            self.queues = self.queues and count <= self.fills
            for call in range(min(count, self.fills)):
                self.claimed[call] = 1000
        return len(self.events)

    def release(self, sequence: int) -> None:
        self.events.append(("released", sequence))

    def answers(self, sequence: int, timeout_s: float) -> bool:
        return self.queues

    def claims(self, count: int) -> list[int]:
        return self.claimed[:count]

    def forget_claims(self, count: int) -> None:
        self.claimed = [0] * 256

    def wait(self, sequence: int, timeout_s: float) -> Reply:
        self.events.append("wait")
        return self.answer

    def finished(self, sequence: int, timeout_s: float) -> Reply | None:
        if self.silent > 0:
            self.silent -= 1
            return None
        self.events.append("finished")
        self.at_finish()
        return Reply("done", seen_ns=10**18)

    def freeze(self) -> None:
        self.events.append("freeze")

    def thaw(self) -> None:
        self.events.append("thaw")


class FakeWatch:
    """Sees what it is told to, in order, and then nothing."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events
        self.sees: list[Watched] = []
        self.seen_ns = 0

    def start(self) -> None:
        self.events.append("watch")

    def launch(self) -> None:
        self.events.append("second watch")

    def stop(self) -> None:
        self.events.append("end of watch")

    def wait(self) -> Watched:
        return replace(self.sees.pop(0) if self.sees else QUIET, seen_ns=self.seen_ns)


class HostDevice(CudaDevice):
    """Without its kernels."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events
        self.hot = False
        self._device = torch.device("cpu")
        self._watch = FakeWatch(events)  # type: ignore[assignment]
        self._watched = None
        self._clock = lambda: 0
        self._monitor = None
        self._memory = None
        self._workers = {}

    def _enqueue_flush(self) -> None:
        self.events.append("flush")

    def _finish_own_work(self) -> None: ...

    def _forget_persisting_lines(self) -> None:
        self.events.append("reset")


class HostMemory(CudaMemory):
    """Its blocks are on the host, numbered from 1."""

    def __init__(self, room: int = 1 << 30) -> None:
        super().__init__(torch.device("cpu"))
        self.blocks: dict[int, torch.Tensor] = {}
        self.room = room
        self.allocated = 0

    def _allocate(self, nbytes: int) -> int:
        if nbytes > self.room:
            raise CudaDriverError("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY")
        self.allocated += 1
        self.blocks[self.allocated] = torch.zeros(nbytes, dtype=torch.uint8)
        return self.allocated

    def _free(self, address: int) -> None:
        del self.blocks[address]

    def view(self, role: str, slots: int, slot_bytes: int) -> torch.Tensor:
        return self.blocks[self._blocks[role]][: slots * slot_bytes].view(slots, slot_bytes)


class HostArena(CudaArena):
    """Its memory is on the host."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events
        x = TensorField("x", (16,), "float32", 0, 64)
        w = TensorField("w", (16,), "float32", 64, 64)
        y = TensorField("y", (16,), "float32", 64, 64)
        z = TensorField("z", (16,), "float32", 192, 64)
        layout = Layout((x, w), (y, z), 4096, 4096, slots=4)
        super().__init__(layout, HostMemory())

    def _finish_own_work(self) -> None: ...

    def deliver(self, slots: range) -> None:
        self.events.append("deliver")
        super().deliver(slots)


@pytest.fixture
def events() -> list[Any]:
    return []


@pytest.fixture
def device(events) -> HostDevice:
    return HostDevice(events)


@pytest.fixture
def arena(events) -> HostArena:
    return HostArena(events)


def inputs(value: float) -> dict[str, torch.Tensor]:
    return {"x": torch.full((16,), value), "w": torch.full((16,), -value)}


def released(device, arena, worker):
    assert device.hold(worker, arena, RUN, 1.0).ok
    return device.release(worker, arena, RUN, 1.0)


class TestOrder:
    def test_inputs_arrive_under_watch_and_the_release_follows_its_end(
        self, device, arena, events
    ) -> None:
        worker = QueueWorker(events)
        assert device.hold(worker, arena, RUN, 1.0).ok
        assert events == [Command.QUEUE, "wait"]  # held: nothing has released it
        assert device.release(worker, arena, RUN, 1.0).reply.ok
        assert events[2:] == [
            "reset",
            "watch",
            "deliver",
            "flush",
            "end of watch",
            ("released", 1),
            "second watch",
            "finished",
            "end of watch",
            Command.SYNCHRONISE,
            "wait",
        ]
        assert device.notes(worker) == {}

    def test_filling_alone_gives_the_worker_nothing(self, arena) -> None:
        arena.fill(2, inputs(1.0))
        assert not arena._inputs.any()
        arena.deliver(range(2, 3))
        assert arena._inputs[2].view(torch.float32).tolist() == [1.0] * 16 + [-1.0] * 16

    def test_hot_caches_are_left_alone(self, device, arena, events) -> None:
        device.hot = True
        released(device, arena, QueueWorker(events))
        assert "flush" not in events

    def test_a_worker_that_cannot_queue_is_let_go_and_then_run_singly(
        self, device, arena, events
    ) -> None:
        worker = QueueWorker(events, queues=False)
        assert device.hold(worker, arena, RUN, 1.0).ok
        assert events == [Command.QUEUE, ("released", 1), "wait"]
        assert "synchronises" in device.notes(worker)
        events.clear()
        # From now on nothing is queued: the release itself starts the calls.
        assert device.hold(worker, arena, RUN, 1.0).ok
        assert events == []
        device.release(worker, arena, RUN, 1.0)
        assert events[5:7] == [Command.RUN, "wait"]

    def test_a_new_worker_under_an_old_number_may_queue_again(self, device, arena, events) -> None:
        worker = QueueWorker(events, queues=False)
        device.hold(worker, arena, RUN, 1.0)
        device.settle(worker)
        assert device.notes(worker) == {}


class SlowMonitor:
    """A card that its own heat slows down."""

    def read(self) -> Reading:
        return Reading(1200, 3201, 92, 700.0, ("hardware thermal slowdown",), power_capped=True)


def test_a_sample_under_thermal_slowdown_is_dropped_and_its_outputs_still_count(
    device, arena, events
) -> None:
    worker = QueueWorker(events)
    device._monitor = SlowMonitor()
    passage = released(device, arena, worker)
    assert passage.reply.ok
    assert passage.lost_share == 1.0
    assert device.readings()["slowdown"] == 1.0
    assert device.ran_while_held(worker) == ""


def test_where_processes_do_not_take_turns_the_device_is_refused(tmp_path) -> None:
    refuse_shared_contexts(tmp_path)
    (tmp_path / "control").touch()
    with pytest.raises(DeviceError, match="multi-process service"):
        refuse_shared_contexts(tmp_path)


class TestSilence:
    """The stream's word does not come in half a second."""

    def test_of_a_long_run_ends_with_the_word(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        worker.silent = 1
        assert released(device, arena, worker).reply.ok
        assert events[-6:] == [
            *(Command.SYNCHRONISE, "wait", "finished"),
            *("end of watch", Command.SYNCHRONISE, "wait"),
        ]

    def test_after_a_kernel_failed_is_the_failure_that_the_worker_tells(
        self, device, arena, events
    ) -> None:
        worker = QueueWorker(events)
        assert device.hold(worker, arena, RUN, 1.0).ok
        worker.silent, worker.answer = 9, Reply("done", Status.CALL_RAISED)
        assert device.release(worker, arena, RUN, 1.0).reply.status == Status.CALL_RAISED

    def test_of_a_stream_that_never_tells_though_all_is_done_counts_until_then(
        self, device, arena, events
    ) -> None:
        worker = QueueWorker(events)
        worker.silent = 9
        assert released(device, arena, worker).reply.ok


class TestQueue:
    def test_what_fits_is_held_at_once(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        assert device.most_calls(worker, arena, RUN, 1.0) == 4
        assert events[-2:] == [Command.SYNCHRONISE, "wait"]  # it is over before anything else

    def test_a_full_queue_is_not_taken_for_a_call_that_synchronises(
        self, device, arena, events
    ) -> None:
        worker = QueueWorker(events)
        worker.fills = 20
        assert device.most_calls(worker, arena, Run(0, 0, 48), 1.0) == 15
        assert device.notes(worker) == {}

    def test_a_first_call_that_never_returns_synchronises(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        worker.fills = 0
        assert device.most_calls(worker, arena, Run(0, 0, 48), 1.0) == 48
        assert "synchronises" in device.notes(worker)


class TestWatch:
    def test_work_of_the_worker_before_its_release_is_evidence_the_second_time(
        self, device, arena, events
    ) -> None:
        worker = QueueWorker(events)
        # Each disturbed delivery is followed by a look with the worker stopped, which sees no one.
        device._watch.sees = [DISTURBED, QUIET, QUIET, DISTURBED, QUIET, QUIET]
        assert released(device, arena, worker).lost_share == 1.0
        assert device.ran_while_held(worker) == ""
        assert released(device, arena, worker).lost_share == 1.0
        assert "2400 us" in device.ran_while_held(worker)
        assert events.count("freeze") == events.count("thaw") == 2
        assert device.ran_while_held(worker) == ""

    def test_inputs_that_someone_may_have_seen_early_are_not_delivered_again(
        self, device, arena, events
    ) -> None:
        device._watch.sees = [DISTURBED]
        released(device, arena, QueueWorker(events))
        assert events.count("deliver") == 1

    def test_a_watch_that_was_cut_short_drops_the_sample_and_blames_no_one(
        self, device, arena, events
    ) -> None:
        worker = QueueWorker(events)
        device._watch.sees = [CUT, QUIET] * 3
        for _ in range(3):
            assert released(device, arena, worker).lost_share == 1.0
            assert device.ran_while_held(worker) == ""
        assert device.notes(worker) == {}

    def test_other_processes_are_not_blamed_on_the_worker(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        device._watch.sees = [DISTURBED, QUIET, DISTURBED] * 3  # also while the worker is stopped
        for _ in range(3):
            assert released(device, arena, worker).lost_share == 1.0
            assert device.ran_while_held(worker) == ""
        assert "other processes" in device.notes(worker)["shared_device"]

    def test_the_clock_of_the_multiprocessor_follows_from_its_cycles(self) -> None:
        assert QUIET.sm_clock_mhz == pytest.approx(1980.0)
        assert QUIET.evidence() == ""


class TestLook:
    """The watch that begins when the worker has left the device."""

    BEFORE = Watched(1_000_000, 2_000_000, 1100, 0, 0, 1)

    def test_ends_the_run_on_the_device_s_own_clock(self, device, arena, events) -> None:
        # from the end of the first watch at 2.0 ms to the beginning of the second at 2.4
        device._watch.sees = [self.BEFORE, Watched(2_400_000, 2_450_000, 1100, 0, 0, 1)]
        # of which the host took 30 us until it released
        device._watch.seen_ns, device._clock = 70_000, lambda: 100_000
        passage = released(device, arena, QueueWorker(events))
        assert passage.looked_ms == pytest.approx(0.37)
        assert passage.looked_at_once
        assert passage.lost_share == 0.0

    def test_that_came_before_the_worker_was_done_counts_to_its_own_end_and_the_sample_is_dropped(
        self, device, arena, events
    ) -> None:
        # it began in the middle of the work, which had the device once more for 1.5 ms
        interrupted = Watched(4_100_000, 6_000_000, 1_500_000, 1, 1_500_000, 1)
        device._watch.sees = [self.BEFORE, interrupted]
        passage = released(device, arena, QueueWorker(events))
        assert passage.looked_ms == pytest.approx(4.0)
        assert passage.lost_share == 1.0

    def test_waits_for_the_word_where_the_last_run_took_longer_than_a_turn(
        self, device, arena, events
    ) -> None:
        worker = QueueWorker(events)
        assert released(device, arena, worker).looked_at_once  # nothing is known yet
        device._known(worker).call_ms[0] = 0.5  # four calls: 2 ms
        events.clear()
        assert not released(device, arena, worker).looked_at_once
        assert events.index("finished") < events.index("second watch")

    def test_ends_with_a_run_that_failed(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        assert device.hold(worker, arena, RUN, 1.0).ok
        worker.silent, worker.answer = 9, Reply("done", Status.CALL_RAISED)
        device.release(worker, arena, RUN, 1.0)
        assert events[-1] == "end of watch"


class TestRehearsal:
    """A call alone is made once before, so that its code is warm."""

    ALONE = Run(0, 0, 1)

    def test_is_over_before_the_inputs_arrive(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        device._known(worker).call_ms[0] = 0.02
        assert device.hold(worker, arena, self.ALONE, 1.0).ok
        assert events == [Command.QUEUE, "wait", Command.QUEUE, "wait"]
        device.rehearse(worker)
        assert events[4:] == [("released", 1), "finished"]
        device.rehearse(worker)  # once
        device.release(worker, arena, self.ALONE, 1.0)
        assert events.index("deliver") > 5
        assert events.count(("released", 1)) == 1
        assert ("released", 3) in events

    def test_that_no_one_asked_for_is_not_in_the_time(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        device._known(worker).call_ms[0] = 0.02
        device.hold(worker, arena, self.ALONE, 1.0)
        device.release(worker, arena, self.ALONE, 1.0)
        assert events.index(("released", 1)) < events.index("deliver")

    @pytest.mark.parametrize(("count", "call_ms"), [(1, 0.0), (1, 6.0), (4, 0.02)])
    def test_is_left_out_where_nothing_is_known_or_it_is_no_use(
        self, device, arena, events, count, call_ms
    ) -> None:
        worker = QueueWorker(events)
        device._known(worker).call_ms[0] = call_ms
        device.hold(worker, arena, Run(0, 0, count), 1.0)
        assert events == [Command.QUEUE, "wait"]

    def test_that_cannot_be_queued_is_let_go(self, device, arena, events) -> None:
        worker = QueueWorker(events, queues=False)
        device._known(worker).call_ms[0] = 0.02
        assert device.hold(worker, arena, self.ALONE, 1.0).ok
        assert events == [Command.QUEUE, ("released", 1), "wait"]
        assert "synchronises" in device.notes(worker)


class TestOutputs:
    def test_written_before_the_release(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        deliver = arena.deliver

        def copied_early(slots: range) -> None:
            deliver(slots)
            arena._outputs.fill_(7)  # a copy engine does not take turns

        arena.deliver = copied_early
        released(device, arena, worker)
        assert "128 of 128" in device.ran_while_held(worker)
        assert "before the release" not in device.ran_while_held(worker)

    def test_written_while_the_caches_are_flushed(self, device, arena, events) -> None:
        device._enqueue_flush = lambda: arena._outputs.fill_(7)
        worker = QueueWorker(events)
        released(device, arena, worker)
        assert "before the release" in device.ran_while_held(worker)

    def test_changed_after_the_worker_had_said_it_was_done(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        worker.at_finish = lambda: arena._outputs.fill_(1)
        released(device, arena, worker)
        arena._outputs.fill_(2)
        assert "changed after the run had ended" in device.ran_while_held(worker)

    def test_written_during_the_run_and_left_alone_is_fine(self, device, arena, events) -> None:
        worker = QueueWorker(events)
        worker.at_finish = lambda: arena._outputs.fill_(1)
        released(device, arena, worker)
        assert device.ran_while_held(worker) == ""

    def test_only_bytes_of_outputs_are_looked_at(self, arena) -> None:
        places = arena.positions(range(1, 3))
        assert len(places) == 64
        slots, inside = places // 4096, places % 4096
        assert sorted(set(slots.tolist())) == [1, 2]
        of_y, of_z = (inside >= 64) & (inside < 128), (inside >= 192) & (inside < 256)
        assert bool((of_y | of_z).all())
        assert bool(of_y.any()) and bool(of_z.any())


class TestInputs:
    def test_a_changed_byte_is_named(self, arena) -> None:
        for slot in range(4):
            arena.fill(slot, inputs(slot))
        arena.deliver(range(4))
        assert arena.changed_inputs(range(4), []) == ""
        arena._inputs[2, 70] = 1
        assert arena.changed_inputs(range(1, 4), []) == "input w of call 1"


def layout_of(elements: int, slots: int) -> Layout:
    field = TensorField("x", (elements,), "float32", 0, 4 * elements)
    output = TensorField("y", (elements,), "float32", 64, 4 * elements)
    block = 2 << 20
    return Layout((field,), (output,), block, block, slots=slots)


class QuietArena(CudaArena):
    def _finish_own_work(self) -> None: ...


class TestMemory:
    def test_layouts_of_one_worker_share_blocks_of_the_largest(self) -> None:
        memory = HostMemory()
        small, large = (QuietArena(layout_of(16, slots), memory) for slots in (2, 5))
        assert [len(each) for each in memory.blocks.values()] == [5 * (2 << 20)] * 2
        assert memory.nbytes == 2 * 5 * (2 << 20) + 5 * 64
        small.show({"x": torch.full((16,), 1.0)})
        large.show({"x": torch.full((16,), 2.0)})
        assert small._inputs[1].view(torch.float32).tolist() == [2.0] * 16
        assert not large.outputs(4)["y"].any()

    def test_an_arena_keeps_inputs_where_it_stages_them(self) -> None:
        arena = QuietArena(layout_of(4, 2), HostMemory())
        arena.fill(1, {"x": torch.arange(4.0)})
        kept = arena.kept(1, {"x": torch.arange(4.0)})
        assert kept["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
        assert kept["x"].data_ptr() == arena._staged[1].data_ptr()

    def test_where_there_is_no_room_for_one_layout_the_others_keep_theirs(self) -> None:
        memory = HostMemory(room=4 << 20)
        first = QuietArena(layout_of(16, 2), memory)
        with pytest.raises(MemoryError, match="OUT_OF_MEMORY"):
            QuietArena(layout_of(16, 3), memory)
        assert memory.users == 1
        first.show({"x": torch.ones(16)})
        assert first._inputs[1].view(torch.float32).tolist() == [1.0] * 16

    def test_the_last_arena_gives_the_blocks_back(self) -> None:
        memory = HostMemory()
        arenas = [QuietArena(layout_of(16, slots), memory) for slots in (2, 3)]
        arenas[0].close()
        arenas[0].close()
        assert memory.blocks
        arenas[1].close()
        assert not memory.blocks

    def test_a_device_keeps_the_memory_of_an_evaluation_for_the_next(self, device) -> None:
        first, second = HostMemory(), HostMemory()
        arena = QuietArena(layout_of(16, 2), first, device._let_go)
        other = QuietArena(layout_of(16, 2), second, device._let_go)
        arena.close()
        other.close()  # a second one is not kept
        assert first.blocks
        assert not second.blocks
        assert device._free_memory() is first
        again = QuietArena(layout_of(16, 4), device._free_memory(), device._let_go)
        assert device._free_memory() is not first  # in use
        again.close()
        device.close()
        assert not first.blocks
