"""The judge judges itself: one honest submission and some that cheat, before it works on a device.

A judge that calls the honest one a cheat, or a cheat good, refuses to go on. What was found is remembered
for as long as machine, versions and the judge's own code stay as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch

import solbench
from solbench.errors import JailError
from solbench.jail import Limits, Zygote, build
from solbench.jail.builders import cache_root
from solbench.judge._device import Device
from solbench.judge._floor import TimerFloor
from solbench.judge._layouts import plan_layout
from solbench.judge._measure import Bench
from solbench.judge._measurement import Measurement
from solbench.judge._oracle import Oracle
from solbench.judge._runner import Runner
from solbench.judge._seeds import SeedBook
from solbench.judge._statistics import StopRule
from solbench.spec import (
    Definition,
    Problem,
    Solution,
    SolutionSpec,
    SourceFile,
    Workload,
    make_problem,
)

_BRIEF = StopRule(minimum=3, least=3, maximum=3, seconds=0.05)
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SLOTS = 8
_SPARE_WORKERS = 2
_DISTURBED = ("RUNTIME_ERROR", "TIMEOUT")
_ELEMENTS = 2000
_POLL_NS = 30_000_000


@dataclass(frozen=True, slots=True)
class Canary:
    """A submission whose verdict is known."""

    name: str
    source: str
    verdicts: tuple[str, ...]
    device: str = ""
    """Only on this kind of device; everywhere if empty."""


_HONEST = """\
import torch


def run(x, y):
    torch.add(x, x, out=y)
"""

_REMEMBERS = """\
kept = []


def run(x, y):
    if not kept:
        kept.append(x + x)
    y.copy_(kept[0])
"""

# Its kernel waits, on a stream of its own, for the first input to change, which happens before the release.
_STARTS_EARLY = f'''\
import torch

from solbench.jail import cuda_driver

PTX = b"""
.version 6.4
.target sm_70
.address_size 64
.visible .entry early(.param .u64 from, .param .u64 to, .param .u64 count, .param .u64 limit_ns)
{{
    .reg .pred %same, %late, %more;
    .reg .f32 %old, %value;
    .reg .b64 %x, %y, %left, %limit, %start, %passed;
    ld.param.u64 %x, [from];
    ld.param.u64 %y, [to];
    ld.param.u64 %left, [count];
    ld.param.u64 %limit, [limit_ns];
    mov.u64 %start, %globaltimer;
    ld.volatile.global.f32 %old, [%x];
LOOK:
    mov.u64 %passed, %globaltimer;
    sub.u64 %passed, %passed, %start;
    setp.gt.u64 %late, %passed, %limit;
    @%late bra WORK;
    ld.volatile.global.f32 %value, [%x];
    setp.eq.f32 %same, %value, %old;
    @%same bra LOOK;
WORK:
    ld.volatile.global.f32 %value, [%x];
    add.f32 %value, %value, %value;
    st.global.f32 [%y], %value;
    add.u64 %x, %x, 4;
    add.u64 %y, %y, 4;
    sub.u64 %left, %left, 1;
    setp.ne.u64 %more, %left, 0;
    @%more bra WORK;
    ret;
}}
\\x00"""
ready = []


def run(x, y):
    if not ready:
        ready.extend((torch.cuda.Stream(), cuda_driver.load_kernel(PTX, "early")))
    stream, kernel = ready
    cuda_driver.launch(
        kernel, stream.cuda_stream, x.data_ptr(), y.data_ptr(), x.numel(), {_POLL_NS}
    )
'''

CANARIES = (
    Canary("honest", _HONEST, ("PASSED",)),
    Canary("remembers its first answer", _REMEMBERS, ("INCORRECT_NUMERICAL",)),
    Canary(
        "starts before it is released",
        _STARTS_EARLY,
        ("REWARD_HACK", "INCORRECT_NUMERICAL"),
        "cuda",
    ),
)


def prove(zygote: Zygote, device: Device, floor: TimerFloor) -> None:
    """Judge the canaries, unless they are known to come out right here.

    Raises ``JailError`` with the verdict that is wrong.
    """
    note = cache_root() / "canaries" / _key(device)
    if note.exists():
        return
    kind = device.name.partition(":")[0]
    with contextlib.ExitStack() as cages:
        # All workers come up at the same time. None is judged before all are ready: on a GPU another's start
        # would look like work before the release.
        trials = [
            cages.enter_context(Trial(zygote, device, canary))
            for canary in CANARIES
            if canary.device in ("", kind)
        ]
        for trial in trials:
            trial.prepare()
        for trial in trials:
            _require(trial, zygote, device, floor)
    # A cache that cannot be written costs time, no verdict.
    with contextlib.suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()


def _require(trial: Trial, zygote: Zygote, device: Device, floor: TimerFloor) -> None:
    verdict, canary = _undisturbed(trial, zygote, device, floor), trial.canary
    if verdict not in canary.verdicts:
        raise JailError(
            f"the judge cannot be trusted on {device.title()}: its own check, a submission that is or "
            f"does '{canary.name}', came out as {verdict}, not as {' or '.join(canary.verdicts)}"
        )


def _key(device: Device) -> str:
    """Machine since its start, device, versions, and the code of judge and jail."""
    made_of = [device.title(), torch.__version__, *_code()]
    with contextlib.suppress(OSError):
        made_of.append(_BOOT.read_text().strip())
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()


def _code() -> Iterator[str]:
    root = Path(solbench.__file__).parent
    for folder in ("judge", "jail", "gate"):
        for file in sorted((root / folder).rglob("*.py")):
            known = file.stat()
            yield f"{file.name} {known.st_size} {known.st_mtime_ns}"


def _undisturbed(trial: Trial, zygote: Zygote, device: Device, floor: TimerFloor) -> str:
    """The verdict; asked for again where a worker was killed or had no time, which says nothing about the
    judge."""
    verdict = trial.verdict(floor)
    for _ in range(_SPARE_WORKERS):
        if verdict in trial.canary.verdicts or verdict not in _DISTURBED:
            break
        with Trial(zygote, device, trial.canary) as again:
            verdict = again.verdict(floor)
    return verdict


class Trial:
    """One canary in a cage of its own, through the pipeline of any other submission, in brief. A context
    manager; its worker is forked at once."""

    def __init__(self, zygote: Zygote, device: Device, canary: Canary) -> None:
        self.canary = canary
        self._device = device
        problem = _problem()
        self._oracle = Oracle(problem, problem.workloads[0], device.oracle_device)
        inputs = self._oracle.inputs(SeedBook().seed(0))
        layout = plan_layout(
            inputs,
            self._oracle.expected(inputs),
            buffer_multiple=device.buffer_multiple,
            max_slots=_SLOTS,
            slot_budget_bytes=device.slot_budget_bytes,
        )
        self._arena = device.arena(layout)
        self._arena.show(inputs)
        artifact = build(_solution(canary), device.name)
        self._runner = Runner(zygote, device, artifact, [self._arena], Limits())
        try:
            self._runner.fork()
        except BaseException:
            self.close()
            raise

    def prepare(self) -> None:
        """Have the worker ready and sealed, or know why it is not."""
        self._runner.ensure([0])

    def verdict(self, floor: TimerFloor) -> str:
        """Its status. The worker is left as it is: its end might disturb the next one's calls."""
        self.prepare()
        if self._runner.worker is None:
            return self._runner.failures[0].status
        measurement = Measurement()
        Bench(
            device=self._device,
            oracle=self._oracle,
            seeds=SeedBook(),
            floor=floor,
            candidate=self._runner,
            reference=None,
            layout=0,
        ).measure(measurement, _BRIEF, _BRIEF)
        return measurement.failure.status if measurement.failure else "PASSED"

    def close(self) -> None:
        """Idempotent."""
        self._runner.stop()
        self._arena.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _problem() -> Problem:
    tensor = {"shape": ["n"], "dtype": "float32"}
    definition = Definition.model_validate(
        {
            "name": "canary",
            "axes": {"n": {"type": "var"}},
            "inputs": {"x": tensor},
            "outputs": {"y": tensor},
            "reference": "def run(x):\n    return x + x\n",
        }
    )
    workload = Workload.model_validate(
        {
            "uuid": "canary",
            "axes": {"n": _ELEMENTS},
            "inputs": {"x": {"type": "random"}},
            "tolerance": {"max_atol": 1e-6, "max_rtol": 1e-6},
        }
    )
    return make_problem(definition, [workload])


def _solution(canary: Canary) -> Solution:
    return Solution(
        name=f"canary: {canary.name}",
        definition="canary",
        author="solbench",
        spec=SolutionSpec(
            languages=("pytorch",), target_hardware=("LOCAL",), entry_point="main.py::run"
        ),
        sources=(SourceFile(path="main.py", content=canary.source),),
    )
