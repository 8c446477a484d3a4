"""A fake device and fake workers: the judge's logic without processes, on real buffers of memory."""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch

from solbench.errors import ReferenceFailed
from solbench.jail import Limits, Reply, Walls
from solbench.jail.protocol import Command, Status
from solbench.judge._arena_cpu import CpuArena
from solbench.judge._device import Advice, Passage
from solbench.judge._layouts import plan_layout
from solbench.judge._sampling import PerRun
from solbench.judge._statistics import BUDGETS
from solbench.spec import Definition as SpecDefinition
from solbench.spec import Problem, Workload, make_problem

REFERENCE = "import torch\n\n\ndef run(x, scale):\n    return x * scale\n"


def make_scale_problem(reference: str = REFERENCE, workloads: int = 1, **tolerance: Any) -> Problem:
    definition = SpecDefinition.model_validate(
        {
            "name": "scale",
            "axes": {"n": {"type": "var"}},
            "inputs": {
                "x": {"shape": ["n"], "dtype": "float32"},
                "scale": {"shape": None, "dtype": "float32"},
            },
            "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
            "reference": reference,
        }
    )
    lines = [
        Workload.model_validate(
            {
                "uuid": f"w{number}",
                "axes": {"n": 1000 + number},
                "inputs": {"x": {"type": "random"}, "scale": {"type": "scalar", "value": 2.0}},
                "tolerance": {"max_atol": 1e-6, "max_rtol": 1e-6, **tolerance},
            }
        )
        for number in range(workloads)
    ]
    return make_problem(definition, lines)


class FakeWorker:
    """Runs a Python function on the judge's own buffers when released."""

    def __init__(self, solution: Callable[..., None], milliseconds: Iterator[float]) -> None:
        self.solution = solution
        self.milliseconds = milliseconds
        self.replies: dict[int, Reply] = {}
        """Command → how it ends; done and ok when not listed."""
        self.commands: list[tuple[int, int]] = []
        self.killed = False
        self.killed_by: Reply | None = None
        self.pid = 0

    def command(self, command: int, *, layout: int = 0, first: int = 0, count: int = 1) -> int:
        self.commands.append((command, layout))
        return len(self.commands)

    def wait(self, sequence: int, timeout_s: float) -> Reply:
        return self.replies.get(self.commands[sequence - 1][0], Reply("done"))

    def death(self, timeout_s: float) -> Reply | None:
        return self.killed_by

    def freeze(self) -> None: ...

    def thaw(self) -> None: ...

    def walls(self) -> Walls:
        return Walls({"seccomp": ""}, sealed=True)

    def log_tail(self) -> str:
        return "printed"

    def kill(self) -> None:
        self.killed = True


class FakeDevice:
    """Records what happens, in order."""

    name = "cpu"
    clock = "host"
    verified = True
    hot = False
    interleaves = True
    queues = False
    reuses_memory = False
    errors_stick = False
    names_kernels = True
    shares_cores = True
    sampling = PerRun()
    budgets = BUDGETS
    buffer_multiple = mmap.PAGESIZE
    max_slots = 16
    slot_budget_bytes = 32 << 20
    single_bytes = float("inf")
    worker_base_bytes = 2 << 30
    oracle_device = "cpu"

    def __init__(self) -> None:
        self.events: list[str] = []
        self.late_write = ""
        self.advises: Advice | None = None
        self.awake = ""
        self.disturbed: Iterator[float] = itertools.repeat(0.0)

    def title(self) -> str:
        return "fake"

    def hardware(self) -> str:
        return "cpu"

    def libraries(self) -> dict[str, str]:
        return {}

    def arena(self, layout: Any, sharing: Any = None, beside: Any = None) -> CpuArena:
        return RecordingArena(self.events, layout, sharing)

    def settle(self, worker: Any) -> None: ...

    def most_calls(self, worker: Any, arena: Any, run: Any, timeout_s: float) -> int:
        return run.count

    def hold(self, worker: Any, arena: Any, run: Any, timeout_s: float) -> Reply:
        self.events.append("hold")
        return worker.wait(worker.command(Command.ARM, layout=run.layout), timeout_s)

    def ran_while_held(self, worker: Any) -> str:
        self.events.append("still held?")
        return self.awake

    def rehearse(self, worker: Any) -> None: ...

    def flush(self) -> None:
        self.events.append("flush")

    def release(self, worker: Any, arena: Any, run: Any, timeout_s: float) -> Passage:
        self.events.append("release")
        reply = worker.wait(worker.command(Command.RUN, layout=run.layout), timeout_s)
        if reply.ok:
            for slot in run.slots:
                worker.solution(arena.input_views(slot), arena.outputs(slot))
        elapsed_ms = next(worker.milliseconds) * run.count
        return Passage(reply, elapsed_ms, next(self.disturbed), self.late_write)

    def advice(self, worker: Any, arena: Any, run: Any, timeout_s: float) -> Advice | None:
        self.events.append("advice")
        return self.advises

    def readings(self) -> dict[str, float]:
        return {}

    def notes(self, worker: Any) -> dict[str, str]:
        return {}

    def close(self) -> None: ...


class RecordingArena(CpuArena):
    def __init__(self, events: list[str], *arguments: Any) -> None:
        super().__init__(*arguments)
        self.events = events

    def fill(self, slot: int, inputs: Mapping[str, Any]) -> None:
        self.events.append("fill")
        super().fill(slot, inputs)

    def poison(self, slots: range, pattern: Any) -> None:
        self.events.append(f"poison {pattern}")
        super().poison(slots, pattern)

    def input_views(self, slot: int) -> dict[str, torch.Tensor]:
        from solbench.judge._layouts import tensor_arguments, tensor_view

        buffer = self._inputs[slot].bytes
        return {field.name: tensor_view(buffer, field) for field in tensor_arguments(self.layout)}


class FakeOracle:
    """y = 2 x on four numbers."""

    def __init__(self, events: list[str], problem: Problem) -> None:
        from solbench.judge._oracle import Oracle

        self._oracle = Oracle(problem, problem.workloads[0], "cpu")
        self.events = events
        self.seeds: list[int] = []
        self.fails = False

    @property
    def seconds(self) -> list[float]:
        return self._oracle.seconds

    @property
    def rule(self) -> Any:
        return self._oracle.rule

    @property
    def errors(self) -> Any:
        return self._oracle.errors

    def truth(self, inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        self.events.append("truth")
        return self._oracle.truth(inputs)

    def inputs(self, seed: int, variation: str = "") -> dict[str, Any]:
        self.events.append("inputs")
        self.seeds.append(seed)
        return self._oracle.inputs(seed, variation)

    def expected(self, inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        self.events.append("expected")
        if self.fails:
            raise ReferenceFailed("ValueError: no")
        return self._oracle.expected(inputs)

    def compare(self, outputs: Any, expected: Any, inputs: Any) -> Any:
        return self._oracle.compare(outputs, expected, inputs)

    def exactly(self, *call: Any) -> Any:
        return self._oracle.exactly(*call)


class Fakes:
    """What a test of the judge's logic needs."""

    def __init__(self) -> None:
        self.device = FakeDevice()
        self.problem = make_scale_problem()
        self.oracle = FakeOracle(self.device.events, self.problem)
        inputs = self.oracle._oracle.inputs(0)
        self.layout = plan_layout(
            inputs,
            {"y": inputs["x"]},
            buffer_multiple=mmap.PAGESIZE,
            max_slots=4,
            slot_budget_bytes=1 << 20,
        )

    def arena(self) -> CpuArena:
        return self.device.arena(self.layout)

    @staticmethod
    def right(inputs: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]) -> None:
        outputs["y"].copy_(inputs["x"] * 2)

    @staticmethod
    def worker(
        solution: Callable[..., None], milliseconds: float | Iterator[float] = 1.0
    ) -> FakeWorker:
        times = itertools.repeat(milliseconds) if isinstance(milliseconds, float) else milliseconds
        return FakeWorker(solution, times)

    @staticmethod
    def reply(status: Status) -> Reply:
        return Reply("done", status)

    limits = Limits()


@pytest.fixture
def fakes() -> Fakes:
    return Fakes()


@pytest.fixture(scope="session")
def scale_problem() -> Callable[..., Problem]:
    return make_scale_problem
