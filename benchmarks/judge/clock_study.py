"""The drain clock taken apart on a GPU: the watch, both ends of a run, calls alone, launches against graphs.

    PYTHONPATH=src python3 benchmarks/judge/clock_study.py

docs/timing.md explains what the lines mean. It drives the judge's parts itself, so it follows their internals.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src"), str(Path(__file__).parent)]
from _kernels import pytorch_solution  # noqa: E402
from _record import record  # noqa: E402

_SAMPLES = 30
_SLOTS = 64
_ELEMENTS = 2048
_HOLD_S = 5.0
_LONG_WATCH_S = 5e-3

_PLAIN = "import torch\n\n\ndef run(x, y):\n    for _ in range({count}):\n        torch.add(x, 1, out=y)\n"
_GRAPH = """\
import torch

graphs = {{}}


def work(x, y):
    for _ in range({count}):
        torch.add(x, 1, out=y)


def run(x, y):
    graph = graphs.get(y.data_ptr())
    if graph is None:
        work(x, y)
        torch.cuda.synchronize()
        graph = graphs[y.data_ptr()] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work(x, y)
    graph.replay()
"""
_BUSY = """\
import torch

ready = []


def run(x, y):
    if not ready:
        ready.append(torch.cuda.Stream())
    torch.add(x, 1, out=y)
    with torch.cuda.stream(ready[0]):
        torch.cuda._sleep(20_000_000)  # cycles: about 10 ms
"""


class Rig:
    """One jailed worker of a solution, held and released by hand."""

    def __init__(self, judge: Any, source: str, x: Any, y: Any) -> None:
        from solbench.jail import Limits, build
        from solbench.judge._layouts import plan_layout
        from solbench.judge._runner import Runner

        self.device = judge.device
        layout = plan_layout(
            {"x": x},
            {"y": y},
            buffer_multiple=self.device.buffer_multiple,
            max_slots=_SLOTS,
            slot_budget_bytes=2 << 30,
        )
        self.slots = layout.slots
        self.arena = self.device.arena(layout)
        self.x = x
        self.arena.show({"x": x})
        artifact = build(pytorch_solution("study", "study", source), self.device.name)
        self.runner = Runner(judge.zygote, self.device, artifact, [self.arena], Limits())
        self.runner.ensure([0])
        if self.runner.worker is None:
            raise RuntimeError(self.runner.failures[0].reason)

    def hold(self, count: int) -> None:
        from solbench.judge._device import Run

        self.run = Run(0, 0, count)
        reply = self.device.hold(self.runner.worker, self.arena, self.run, _HOLD_S)
        if not reply.ok:
            raise RuntimeError(f"cannot be held: {reply}")

    def release(self) -> Any:
        """The passage, by word and by look."""
        return self.device.release(self.runner.worker, self.arena, self.run, _HOLD_S)

    def times_us(self, count: int) -> tuple[float, float]:
        self.hold(count)
        passage = self.release()
        self.device.ran_while_held(self.runner.worker)
        return 1e3 * passage.elapsed_ms, 1e3 * passage.looked_ms

    def close(self) -> None:
        self.runner.stop()
        self.arena.close()


@contextmanager
def rig_of(judge: Any, source: str, x: Any, y: Any) -> Iterator[Rig]:
    rig = Rig(judge, source, x, y)
    try:
        yield rig
    finally:
        rig.close()


def main() -> None:
    import torch

    if not torch.cuda.is_available():
        print("no GPU here: nothing measured")
        return
    from solbench.judge._session import LocalJudge

    numbers: dict[str, Any] = {}
    with LocalJudge("cuda:0") as judge:
        tiny = torch.randn(_ELEMENTS, device="cuda:0")
        numbers["watch"] = watch_figures(judge, tiny)
        numbers["calls"] = dict(call_figures(judge, tiny))
    record("judge-clock-study", numbers)


def watch_figures(judge: Any, tiny: Any) -> dict[str, Any]:
    """Share of watches without a gap, and the longest gap, with a worker that waits and one that does not."""
    figures = {}
    for name, source in (("held", _PLAIN.format(count=1)), ("busy", _BUSY)):
        with rig_of(judge, source, tiny, tiny) as rig:
            for label, seconds in (("", 0.0), (", 5 ms", _LONG_WATCH_S)):
                seen = [_watched(rig, seconds) for _ in range(_SAMPLES)]
                figures[name + label] = {
                    "undisturbed": sum(each.undisturbed for each in seen) / len(seen),
                    "longest_gap_us": max(each.longest_gap_ns for each in seen) / 1e3,
                    "duration_us": statistics.median(each.duration_ns for each in seen) / 1e3,
                }
                print(name + label, figures[name + label])
    return figures


def _watched(rig: Rig, seconds: float) -> Any:
    """Hold one call and watch, then let it go."""
    rig.hold(1)
    watch = rig.device._watch
    watch.start()
    rig.arena.deliver(rig.run.slots)
    time.sleep(seconds)
    watch.stop()
    seen = watch.wait()
    rig.release()
    rig.device.settle(rig.runner.worker)
    return seen


def call_figures(judge: Any, tiny: Any) -> Iterator[tuple[str, dict[str, float]]]:
    """Queued and alone, in us; the first line is what others are compared with."""
    import torch

    large = torch.randn(16 << 20, device="cuda:0")
    square = torch.randn(1024, 1024, device="cuda:0").bfloat16()
    product = "import torch\n\n\ndef run(x, y):\n    torch.mm(x, x, out=y)\n"
    cases: list[tuple[str, str, Any]] = [("1 kernel", _PLAIN.format(count=1), tiny)]
    for count in (3, 10):
        cases.append((f"{count} kernels", _PLAIN.format(count=count), tiny))
    for count in (1, 3, 10):
        cases.append((f"graph of {count}", _GRAPH.format(count=count), tiny))
    cases += [("add 64 MiB", _PLAIN.format(count=1), large), ("matmul 1024 bf16", product, square)]
    cost_us = None
    for name, source, x in cases:
        with rig_of(judge, source, x, torch.empty_like(x)) as rig:
            figures = _slopes(rig)
        if cost_us is None:
            cost_us = figures["run_of_one_us"] - figures["word_us"]
        figures["alone_us"] = figures["run_of_one_us"] - cost_us
        print(f"{name:18}", {key: round(value, 2) for key, value in figures.items()})
        yield name, figures


def _slopes(rig: Rig) -> dict[str, float]:
    short, long = max(1, rig.slots // 6), rig.slots
    runs: dict[int, list[tuple[float, float]]] = {1: [], short: [], long: []}
    for turn in range(_SAMPLES + 2):
        for count, times in runs.items():
            measured = rig.times_us(count)
            if turn >= 2:
                times.append(measured)
    slopes = [
        [
            (b[clock] - a[clock]) / (long - short)
            for a, b in zip(runs[short], runs[long], strict=True)
        ]
        for clock in (0, 1)
    ]
    return {
        "word_us": statistics.median(slopes[0]),
        "word_spread_us": _spread(slopes[0]),
        "look_us": statistics.median(slopes[1]),
        "look_spread_us": _spread(slopes[1]),
        "run_of_one_us": statistics.median(word for word, _ in runs[1]),
    }


def _spread(values: list[float]) -> float:
    """From the 5th to the 95th percentile."""
    twentieths = statistics.quantiles(values, n=20)
    return twentieths[-1] - twentieths[0]


if __name__ == "__main__":
    main()
