"""An NVIDIA GPU as a device: arenas shared by IPC, and the drain clock.

A run is enqueued by the worker behind a wait in its stream, while no input exists yet. Then the judge stages
the inputs, poisons the outputs, and, under the eyes of its watch kernel, delivers the inputs, flushes, and
writes the word that the stream waits for. At once it launches the watch kernel again, which begins when all
work of the worker is over: contexts of two processes take turns on a GPU. The time of a run is that between the
end of the first watch and the beginning of the second, on the device's own clock, which no one else can write.
The fixed cost of the two switches (295 us on an H200) cancels in the slope between runs of two lengths.

The worker's stream, past the last call, writes a word of its own into host memory: a second clock, and the
moment to look at the outputs.

What keeps this honest:

* The watch kernel runs from before the first input byte arrives until just before the release; while it looks,
  nothing of the worker's runs, or it shows (see ``_watch``). Copy engines do not take turns: secret places of
  the outputs must still be as poisoned when the watch ends.
* The worker's word can be forged, and is no more than a word: while the second watch looks, the judge reads
  secret places of all outputs, and places that change afterwards are evidence.
* A worker that has the device for longer than a turn would be interrupted by a watch that waits. Its runs are
  watched from when the word has come, which is a coarser clock (see ``_clocks``).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import torch

from solbench.errors import DeviceError
from solbench.hardware import detect_hardware
from solbench.jail import Reply, Worker, cuda_driver
from solbench.jail.protocol import Command, Layout
from solbench.judge._arena_cuda import CudaArena, CudaMemory
from solbench.judge._card_cuda import MPS_FOLDER, device_of, open_monitor, refuse_shared_contexts
from solbench.judge._device import Advice, Arena, Passage, Run
from solbench.judge._known_cuda import Finished, Known, until_free_ns
from solbench.judge._sampling import Slope
from solbench.judge._statistics import GPU_BUDGETS
from solbench.judge._watch import Watched, WatchKernel

_QUEUE_TIMEOUT_S = 3.0
"""Enqueueing takes milliseconds; a call that synchronises would wait for ever for its release."""
_STUCK_S = 0.25
"""No further call in so long: the queue is full, or the call waits for the device."""
_QUEUE_SHARE = 0.75
"""Of the calls that filled the queue, so many are held from then on."""
_PATIENCE_S = 0.5
_TURN_MS = 1.8
"""A process has the device for 2.1 ms (H200) before it is interrupted for another that waits."""
_REHEARSED_MS = 5.0
"""Cold code costs up to 6 us: beside calls longer than that it does not matter."""
_SWITCH_MS = 0.15
"""Of a run's time, what passes before the worker has the device and after it is done."""
_STRIKES = 2
"""Turns that something else had may have a cause outside; a worker that runs early does so again."""
_LOOK_AGAIN_S = 8e-3
"""More than three turns of another process on an H200 (2.4 ms each)."""
_ADVICE_CHARS = 3000
_KEPT_BYTES = 1 << 30
"""Buffers up to this size stay for the next evaluation."""
_ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"
_SHARED = "shared_device"


class CudaDevice:
    """One NVIDIA GPU."""

    clock = "drain"
    verified = True
    interleaves = False
    queues = True
    reuses_memory = True
    errors_stick = True
    names_kernels = True
    shares_cores = False
    sampling = Slope()
    budgets = GPU_BUDGETS
    buffer_multiple = cuda_driver.IPC_BLOCK_BYTES
    max_slots = 48
    slot_budget_bytes = 256 << 20
    single_bytes: float = 384 << 20  # touched in 0.1 ms; a run is timed to a microsecond or two
    worker_base_bytes = 16 << 30  # CUDA maps its libraries and modules into the process

    def __init__(self, name: str, *, hot: bool = False) -> None:
        self.name = name
        self.hot = hot
        self._device = device_of(name)
        # References of many sizes take turns in this process: segments that grow leave no holes between them.
        os.environ.setdefault(_ALLOCATOR, "expandable_segments:True")
        refuse_shared_contexts(Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", MPS_FOLDER)))
        self.oracle_device = name
        torch.cuda.set_device(self._device)
        properties = torch.cuda.get_device_properties(self._device)
        self._title = properties.name
        l2_bytes = properties.L2_cache_size
        self._dirty = torch.empty(2 * l2_bytes, dtype=torch.uint8, device=self._device)
        self._clean = torch.ones(l2_bytes // 4, dtype=torch.float32, device=self._device)
        self._sum = torch.empty((), dtype=torch.float32, device=self._device)
        self._monitor = open_monitor(properties)
        self._watch = WatchKernel(self._device)
        self._watched: Watched | None = None
        self._clock = time.perf_counter_ns
        self._memory: CudaMemory | None = None
        """Left by an earlier evaluation, or in use."""
        self._workers: dict[int, Known] = {}
        """By process."""

    def title(self) -> str:
        return self._title

    def hardware(self) -> str:
        found = detect_hardware(self.name)
        if found is None:
            raise DeviceError(
                f"no hardware file fits '{self._title}'. Name one with --hardware (see: solbench hardware list)"
            )
        return found

    def libraries(self) -> dict[str, str]:
        return {"torch": torch.__version__, "cuda": str(torch.version.cuda)}

    def arena(
        self, layout: Layout, sharing: Arena | None = None, beside: Arena | None = None
    ) -> CudaArena:
        """In the memory of ``sharing`` or ``beside``, since no two of them are used at once. Else in memory
        that an earlier evaluation has left, if it is not in use: a kernel's time depends a little on where
        its data lies."""
        other = sharing or beside
        assert other is None or isinstance(other, CudaArena)
        memory = other.memory if other is not None else self._free_memory()
        return CudaArena(layout, memory, self._let_go)

    def _free_memory(self) -> CudaMemory:
        if self._memory is None or self._memory.users:
            return CudaMemory(self._device)
        return self._memory

    def _let_go(self, memory: CudaMemory) -> None:
        """Keep one, if it is not too large."""
        if memory is not self._memory:
            if self._memory is not None or memory.nbytes > _KEPT_BYTES:
                memory.close()
                return
            self._memory = memory
        elif memory.nbytes > _KEPT_BYTES:
            memory.close()
            self._memory = None

    def settle(self, worker: Worker) -> None:
        """A new worker is trusted to queue until it is seen not to."""
        self._workers[worker.pid] = Known()

    def _known(self, worker: Worker) -> Known:
        return self._workers.setdefault(worker.pid, Known())

    def most_calls(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> int:
        """Enqueue them once, on what the slots hold, and see how many the launch queue takes.

        The queue holds about a thousand launches; a call that does not return before its release synchronises.
        """
        known = self._known(worker)
        if known.synchronises:
            return run.count
        worker.forget_claims(run.count)
        sequence = self._command(worker, Command.QUEUE, run)
        queued = self._count_queued(worker, sequence, run.count, timeout_s)
        worker.release(sequence)
        if not worker.wait(sequence, timeout_s).ok:
            return run.count  # whatever is wrong with it shows in a run that counts
        worker.wait(worker.command(Command.SYNCHRONISE, layout=run.layout), timeout_s)
        if queued == run.count:
            return queued
        if queued < 2:
            known.synchronises = True
            return run.count
        return max(2, int(_QUEUE_SHARE * queued))

    def _count_queued(self, worker: Worker, sequence: int, count: int, timeout_s: float) -> int:
        deadline, queued = time.monotonic() + timeout_s, 0
        while not worker.answers(sequence, _STUCK_S):
            more = sum(claim > 0 for claim in worker.claims(count))
            if more == queued or time.monotonic() > deadline:
                return queued
            queued = more
        return count

    def hold(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Reply:
        known = self._known(worker)
        known.finished, known.rehearsal = None, 0
        if known.synchronises:
            return Reply("done")
        if run.count == 1 and 0.0 < known.call_ms.get(run.layout, 0.0) < _REHEARSED_MS:
            known.rehearsal = self._command(worker, Command.QUEUE, run)
            reply = self._queue(worker, known.rehearsal, timeout_s)
            if known.synchronises or not reply.ok:
                known.rehearsal = 0
                return reply
        known.queued = self._command(worker, Command.QUEUE, run)
        return self._queue(worker, known.queued, timeout_s)

    def _queue(self, worker: Worker, sequence: int, timeout_s: float) -> Reply:
        if not worker.answers(sequence, min(timeout_s, _QUEUE_TIMEOUT_S)):
            # It cannot be queued: let it go, and time this worker's runs singly from now on.
            self._known(worker).synchronises = True
            worker.release(sequence)
        return worker.wait(sequence, timeout_s)

    def rehearse(self, worker: Worker) -> None:
        known = self._known(worker)
        sequence, known.rehearsal = known.rehearsal, 0
        if sequence:
            worker.release(sequence)
            worker.finished(sequence, _PATIENCE_S)

    def flush(self) -> None:
        """Nothing yet: it happens after the inputs have arrived, in :meth:`release`."""

    def release(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Passage:
        assert isinstance(arena, CudaArena)
        self.rehearse(worker)
        known = self._known(worker)
        in_one_turn = self._fits_a_turn(known, run)
        positions = arena.positions(run.slots)
        poisoned = arena.sample(positions)
        self._finish_own_work()
        watched, before = self._bring_inputs(arena, run, positions)
        released_ns, finished = self._run(worker, run, timeout_s, look_behind=in_one_turn)
        if not finished.ok:
            self._watch.stop()  # it may wait for the device still
            return Passage(finished, 0.0)
        if not in_one_turn:
            self._watch.launch()
        at_finish = arena.sample(positions)
        self._watch.stop()
        looked = self._watch.wait()
        elapsed_ms = (finished.seen_ns - released_ns) / 1e6
        known.call_ms[run.layout] = max(0.0, elapsed_ms - _SWITCH_MS) / run.count
        reply = worker.wait(worker.command(Command.SYNCHRONISE, layout=run.layout), timeout_s)
        known.finished = Finished(arena, positions, poisoned, before, at_finish)
        return Passage(
            reply,
            elapsed_ms,
            max(self._slowed_down(), self._disturbed(worker, watched, looked) if reply.ok else 0.0),
            looked_ms=until_free_ns(watched, released_ns, looked) / 1e6,
            looked_at_once=in_one_turn,
        )

    def _fits_a_turn(self, known: Known, run: Run) -> bool:
        """Whether the run is over before another context is let in, by the last one; unknown ones are tried."""
        return not known.synchronises and known.call_ms.get(run.layout, 0.0) * run.count <= _TURN_MS

    def _forget_persisting_lines(self) -> None:
        """Whoever set them. It waits for the judge's own work, so it must come before the watch."""
        cuda_driver.reset_persisting_l2()

    def _finish_own_work(self) -> None:
        torch.cuda.current_stream(self._device).synchronize()

    def _run(
        self, worker: Worker, run: Run, timeout_s: float, *, look_behind: bool
    ) -> tuple[int, Reply]:
        """Let it go, and wait for its word that it is past the last call; returns when it was let go, too.
        ``look_behind``: the watch begins behind its work."""
        known = self._known(worker)
        if known.synchronises:
            released_ns = self._clock()
            return released_ns, worker.wait(self._command(worker, Command.RUN, run), timeout_s)
        queued = known.queued
        released_ns = self._clock()
        worker.release(queued)
        if look_behind:
            self._watch.launch()
        finished = worker.finished(queued, min(timeout_s, _PATIENCE_S))
        if finished is not None:
            return released_ns, finished
        # It is long, or a kernel failed and the stream never gets there: only the worker can tell.
        reply = worker.wait(self._command(worker, Command.SYNCHRONISE, run), timeout_s)
        return released_ns, (worker.finished(queued, 0.0) or reply) if reply.ok else reply

    def _bring_inputs(
        self, arena: CudaArena, run: Run, positions: torch.Tensor
    ) -> tuple[Watched, torch.Tensor]:
        """Deliver the inputs and flush, watched; also the outputs' secret places at the very end.

        Once only: whoever worked while these inputs were there may know what to write.
        """
        self._forget_persisting_lines()
        self._watch.start()
        arena.deliver(run.slots)
        if not self.hot:
            self._enqueue_flush()
        before = arena.sample(positions)
        self._watch.stop()
        self._watched = self._watch.wait()
        return self._watched, before

    def _enqueue_flush(self) -> None:
        """Write twice the L2, then read once its size from a clean buffer."""
        self._dirty.zero_()
        torch.amax(self._clean, 0, out=self._sum)

    def _disturbed(self, worker: Worker, watched: Watched, looked: Watched) -> float:
        """1 where more than the judge had the device before the release, or the judge had it before the worker
        was done, so that the sample is dropped.

        All work of the worker is over by now. Whoever still takes turns while it is stopped is someone else; if
        no one does, it was the worker, and the second time that is evidence.
        """
        if not watched.complete:
            return 1.0  # code of the judge's own was loaded meanwhile, and no one looked
        if watched.undisturbed:
            return 0.0 if looked.undisturbed and looked.complete else 1.0
        known = self._known(worker)
        worker.freeze()
        self._watch.start()
        time.sleep(_LOOK_AGAIN_S)
        self._watch.stop()
        alone = self._watch.wait().undisturbed
        worker.thaw()
        if not alone:
            known.shared = "other processes use this device: " + watched.evidence()
            return 1.0
        known.strikes += 1
        if known.strikes >= _STRIKES:
            known.evidence = watched.evidence()
        return 1.0

    def _slowed_down(self) -> float:
        """1 while the card is slowed down by heat or by its board: the sample is then dropped."""
        return float(self._monitor is not None and not self._monitor.read().usable)

    def ran_while_held(self, worker: Worker) -> str:
        """What the watch kernel saw, and whether outputs changed outside the run. The host side need not stop:
        what counts is that the stream waits."""
        known = self._known(worker)
        evidence, finished = known.evidence, known.finished
        known.evidence, known.finished = "", None
        if evidence or finished is None:
            return evidence
        total = len(finished.positions)
        early = int((finished.poisoned != finished.before_release).sum())
        if early:
            return f"{early} of {total} output bytes looked at changed before the release"
        late = int((finished.arena.sample(finished.positions) != finished.at_finish).sum())
        if late:
            return f"{late} of {total} output bytes looked at changed after the run had ended"
        return ""

    def advice(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Advice | None:
        worker.forget_claims(2)
        if not worker.wait(self._command(worker, Command.PROFILE, run), timeout_s).ok:
            return None
        busy_ns, kernels = worker.claims(2)
        return Advice(kernels, busy_ns / 1e6, worker.log_tail()[-_ADVICE_CHARS:])

    def readings(self) -> dict[str, float]:
        readings: dict[str, float] = {}
        if self._watched is not None and self._watched.undisturbed:
            readings["watch_sm_clock_mhz"] = self._watched.sm_clock_mhz
        if self._monitor is None:
            return readings
        reading = self._monitor.read()
        return readings | {
            "sm_clock_mhz": float(reading.sm_clock_mhz),
            "memory_clock_mhz": float(reading.memory_clock_mhz),
            "temperature_c": float(reading.temperature_c),
            "power_w": reading.power_w,
            "slowdown": float(not reading.usable),
            "power_capped": float(reading.power_capped),
        }

    def notes(self, worker: Worker) -> dict[str, str]:
        notes = {}
        known = self._known(worker)
        if known.synchronises:
            notes["synchronises"] = (
                "a call waits for the device, so calls cannot be queued behind the judge's "
                "release; they were started by the host, and its launches are in the time"
            )
        if known.shared:
            notes[_SHARED] = known.shared
        return notes

    def close(self) -> None:
        if self._memory is not None and not self._memory.users:
            self._memory.close()
            self._memory = None
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None

    def _command(self, worker: Worker, command: Command, run: Run) -> int:
        return worker.command(command, layout=run.layout, first=run.first, count=run.count)
