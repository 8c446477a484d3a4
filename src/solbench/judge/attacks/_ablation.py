"""Leaving one defence out, to see that it earns its place: then some attack must get through.

Nothing here is reachable from an evaluation: defences are taken out of a judge from outside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from solbench.errors import InputError
from solbench.gate import GateResult
from solbench.jail import Worker, _client, _processes, start_zygote
from solbench.judge import _device_cpu
from solbench.judge._oracle import Oracle
from solbench.judge._seeds import SeedBook
from solbench.judge._session import Judge
from solbench.judge._statistics import BUDGETS, Budget
from solbench.judge.attacks._case import AttackCase
from solbench.judge.attacks._run import Finding, run_attack

_FIRST_COMPARISONS = 4


@dataclass(frozen=True, slots=True)
class Ablation:
    """A defence that can be left out."""

    take_out: Callable[[Judge, ExitStack], None]
    breached_by: tuple[str, ...]
    """Cases of the corpus of which at least one then gains."""


def run_ablation(
    layer: str, corpus: Mapping[str, AttackCase], budgets: Mapping[str, Budget] = BUDGETS
) -> list[Finding]:
    """The attacks that a defence is there to stop, against a judge without it. One at least should gain.

    Only those: they read, compute and spy, and do no harm to a machine whose wall is down, which cannot be said
    of any code. Raises ``InputError`` for an unknown name.
    """
    if layer not in ABLATIONS:
        raise InputError(
            f"there is no defence '{layer}' to leave out",
            key="--ablate",
            remedy=f"There are: {', '.join(ABLATIONS)}.",
        )
    ablation = ABLATIONS[layer]
    with ExitStack() as stack:
        judge = stack.enter_context(Judge("cpu", budgets=budgets))
        ablation.take_out(judge, stack)
        return [run_attack(judge, name, corpus[name]) for name in ablation.breached_by]


def _replace(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Set an attribute until the stack unwinds."""
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _without_wall(name: str) -> Callable[[Judge, ExitStack], None]:
    def take_out(judge: Judge, stack: ExitStack) -> None:
        judge._zygote = start_zygote(leave_out=[name])

    return take_out


def _stale_values(judge: Judge, stack: ExitStack) -> None:
    _replace(stack, SeedBook, "seed", lambda self, call: 1)


def _some_calls_unseen(judge: Judge, stack: ExitStack) -> None:
    plain, seen = Oracle.compare, [0]

    def compare(self: Oracle, outputs: Sequence[Any], expected: Sequence[Any]) -> list[GateResult]:
        seen[0] += 1
        if seen[0] <= _FIRST_COMPARISONS:
            return plain(self, outputs, expected)
        return [GateResult("PASSED") for _ in outputs]

    _replace(stack, Oracle, "compare", compare)


class _NeverHeld(_device_cpu.CpuDevice):
    """Workers run on while their inputs are laid out."""

    def _stop(self, worker: Worker) -> None:
        """Leave it running."""

    def ran_while_held(self, worker: Worker) -> str:
        return ""


def _not_held(judge: Judge, stack: ExitStack) -> None:
    judge.device = _NeverHeld()


def _late_work_unseen(judge: Judge, stack: ExitStack) -> None:
    _replace(stack, _processes, "stop_threads", lambda pid: None)
    _replace(stack, _device_cpu, "_late", lambda at_done, frozen: "")
    _replace(stack, _device_cpu, "_SLOW_STOP_NS", 1 << 62)


def _inherited_environment(judge: Judge, stack: ExitStack) -> None:
    secret = {"SOLBENCH_SECRET_SEED": "1"}
    _replace(stack, _client, "clean_environment", lambda: {**os.environ, **secret})


ABLATIONS: Mapping[str, Ablation] = {
    "landlock": Ablation(
        _without_wall("landlock"), ("theft_reference_file", "theft_sibling_runs", "theft_links")
    ),
    "seccomp": Ablation(_without_wall("seccomp"), ("concurrency_fork_after_seal",)),
    "held_while_filled": Ablation(_not_held, ("timing_work_in_the_gap",)),
    "fresh_values": Ablation(_stale_values, ("caching_by_content", "caching_by_shape")),
    "every_call_checked": Ablation(_some_calls_unseen, ("stage_call_counter",)),
    "late_work": Ablation(_late_work_unseen, ("timing_stop_delayed_small_output",)),
    "clean_environment": Ablation(_inherited_environment, ("theft_environment",)),
}
"""Name → what is left out. ``late_work`` is three that stand in for one another: the sample of the
outputs, stopping each thread, and counting a slow stop as time."""
