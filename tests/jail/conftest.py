"""Real workers with little solutions."""

from __future__ import annotations

import fcntl
import mmap
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from solbench.jail import (
    Artifact,
    Command,
    JailedWorker,
    Layout,
    Limits,
    Reply,
    ScalarField,
    SlotBuffers,
    TensorField,
    WorkerPlan,
    ZygoteClient,
    available_layers,
    start_zygote,
)

_FUTURE_WRITE = 0x10
_WAIT_S = 20.0


class Memory:
    """One buffer: a memfd and the judge's mapping."""

    def __init__(self, size: int, *, sealed: bool) -> None:
        self.fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        if sealed:
            seals = _FUTURE_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)

    def close(self) -> None:
        os.close(self.fd)

    def view(self, field: TensorField) -> torch.Tensor:
        raw = torch.frombuffer(self.map, dtype=torch.uint8)[field.offset :][: field.nbytes]
        return raw.view(getattr(torch, field.dtype)).view(field.shape)


def tensor_field(name: str, shape: Sequence[int], dtype: str, offset: int = 0) -> TensorField:
    nbytes = torch.Size(shape).numel() * getattr(torch, dtype).itemsize
    return TensorField(name, tuple(shape), dtype, offset, nbytes)


def layout_of(
    inputs: Sequence[tuple[str, Sequence[int], str] | ScalarField],
    outputs: Sequence[tuple[str, Sequence[int], str]],
    *,
    slots: int = 1,
    mutates: tuple[str, ...] = (),
) -> Layout:
    """Every tensor at a page of its own."""
    ends = {"inputs": 0, "outputs": 0}

    def place(role: str, entry: tuple[str, Sequence[int], str]) -> TensorField:
        placed = tensor_field(*entry, offset=ends[role])
        ends[role] += max(1, -(-placed.nbytes // 4096)) * 4096
        return placed

    arguments = tuple(
        entry
        if isinstance(entry, ScalarField)
        else place("outputs" if entry[0] in mutates else "inputs", entry)
        for entry in inputs
    )
    results = tuple(place("outputs", entry) for entry in outputs)
    return Layout(arguments, results, ends["inputs"], ends["outputs"], slots, mutates)


@dataclass
class Jailed:
    """A worker with its buffers, and the commands of a judge in short."""

    worker: JailedWorker
    layout: Layout
    slots: list[tuple[Memory, Memory]]

    def do(
        self, command: Command, *, first: int = 0, count: int = 1, wait_s: float = _WAIT_S
    ) -> Reply:
        sequence = self.worker.command(command, first=first, count=count)
        return self.worker.wait(sequence, wait_s)

    def prepare(self) -> Reply:
        """Load and meet; the reply that is not ok, or the last."""
        reply = self.do(Command.LOAD)
        return self.do(Command.MEET, count=self.layout.slots) if reply.ok else reply

    def seal(self) -> Reply:
        reply = self.prepare()
        return self.do(Command.SEAL) if reply.ok else reply

    def run(self, *, slot: int = 0, wait_s: float = _WAIT_S) -> Reply:
        """One call as a judge makes it: frozen while the inputs change."""
        armed = self.do(Command.ARM, first=slot)
        return self.do(Command.RUN, first=slot, wait_s=wait_s) if armed.ok else armed

    def input(self, name: str, slot: int = 0) -> torch.Tensor:
        found = next(
            field
            for field in self.layout.arguments
            if isinstance(field, TensorField) and field.name == name
        )
        return self.slots[slot][name in self.layout.mutates].view(found)

    def output(self, name: str = "out", slot: int = 0) -> torch.Tensor:
        found = next(field for field in self.layout.outputs if field.name == name)
        return self.slots[slot][1].view(found)


DEFAULT_LAYOUT = layout_of([("x", (8,), "float32")], [("out", (8,), "float32")])

Spawn = Callable[..., Jailed]


@pytest.fixture(scope="session")
def zygote() -> Iterator[ZygoteClient]:
    with start_zygote() as client:
        yield client


@pytest.fixture(scope="session")
def layers() -> dict[str, str]:
    """Which walls this machine has."""
    return available_layers()


@pytest.fixture
def needs_layers(layers: dict[str, str]) -> Callable[..., None]:
    """Skip where one of these walls is missing."""

    def check(*names: str) -> None:
        for name in names:
            if layers[name]:
                pytest.skip(f"this machine lacks {name}: {layers[name]}")

    return check


@pytest.fixture
def spawn(zygote: ZygoteClient, tmp_path: Path) -> Iterator[Spawn]:
    """``spawn(source)`` or ``spawn(artifact=...)``: a worker that is ended with the test."""
    made: list[Jailed] = []

    def make(
        source: str = "",
        *,
        layout: Layout = DEFAULT_LAYOUT,
        in_place: bool = False,
        limits: Limits | None = None,
        files: dict[str, str] | None = None,
        entry: str = "kernel.py",
        artifact: Artifact | None = None,
        triton: bool = False,
    ) -> Jailed:
        folder = tmp_path / f"artifact-{len(made)}"
        for name, text in {entry: source, **(files or {})}.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text))
        slots = [
            (Memory(layout.input_bytes, sealed=True), Memory(layout.output_bytes, sealed=False))
            for _ in range(layout.slots)
        ]
        plan = WorkerPlan(
            artifact or Artifact(str(folder), entry, "run", "python", in_place, "test", triton),
            (layout,),
            "cpu",
            limits or Limits(),
        )
        buffers = [[SlotBuffers(inputs.fd, outputs.fd) for inputs, outputs in slots]]
        jailed = Jailed(zygote.spawn(plan, buffers), layout, slots)
        made.append(jailed)
        return jailed

    yield make
    for jailed in made:
        jailed.worker.kill()
        for inputs, outputs in jailed.slots:
            inputs.close()
            outputs.close()
