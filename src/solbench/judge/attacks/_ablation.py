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
from solbench.jail import JailedWorker, Worker, _client, _processes, start_zygote
from solbench.judge import _arena_cpu, _canaries, _device_cpu, _seeds
from solbench.judge._arena_cpu import CpuArena
from solbench.judge._calls import Round
from solbench.judge._clocks import Clocks
from solbench.judge._device_cuda import CudaDevice
from solbench.judge._oracle import Oracle
from solbench.judge._sampling import PerRun
from solbench.judge._seeds import SeedBook
from solbench.judge._session import LocalJudge
from solbench.judge._statistics import BUDGETS, Budget
from solbench.judge.attacks._case import AttackCase, DeviceKind
from solbench.judge.attacks._run import Finding, run_attack

_FIRST_COMPARISONS = 4


@dataclass(frozen=True, slots=True)
class Ablation:
    """A defence that can be left out."""

    take_out: Callable[[LocalJudge, ExitStack], None]
    breached_by: tuple[str, ...]
    """Cases of the corpus of which at least one then gains."""
    behind: str = ""
    """Another defence that stops the same cases by itself: it is left out too, and the cases must not gain
    while only that one is."""
    device: DeviceKind = "cpu"


def run_ablation(
    layer: str,
    corpus: Mapping[str, AttackCase],
    budgets: Mapping[str, Budget] = BUDGETS,
    *,
    device: str = "cpu",
) -> list[Finding]:
    """The attacks that a defence is there to stop, against a judge without it. One at least should gain.

    Only those: they read, compute and spy, and do no harm to a machine whose wall is down, which cannot be said
    of any code. Raises ``InputError`` for an unknown name, and for one of another device.
    """
    if layer not in ABLATIONS:
        raise InputError(
            f"there is no defence '{layer}' to leave out",
            key="--ablate",
            remedy=f"There are: {', '.join(ABLATIONS)}.",
        )
    ablation = ABLATIONS[layer]
    if ablation.device != device.partition(":")[0]:
        raise InputError(
            f"'{layer}' is a defence of device {ablation.device}",
            key="--ablate",
            remedy=f"Give --device {ablation.device}.",
        )
    return _run_without(ablation.take_out, ablation, corpus, budgets, device)


def run_control(
    layer: str, corpus: Mapping[str, AttackCase], budgets: Mapping[str, Budget] = BUDGETS
) -> list[Finding]:
    """The same attacks against a judge that lacks only what the defence stands behind, or nothing at all.
    None should gain."""
    ablation = ABLATIONS[layer]
    take_out = ABLATIONS[ablation.behind].take_out if ablation.behind else _nothing
    return _run_without(take_out, ablation, corpus, budgets, ablation.device)


def _run_without(
    take_out: Callable[[LocalJudge, ExitStack], None],
    ablation: Ablation,
    corpus: Mapping[str, AttackCase],
    budgets: Mapping[str, Budget],
    device: str,
) -> list[Finding]:
    with ExitStack() as stack:
        judge = stack.enter_context(LocalJudge(device, budgets=budgets))
        # Its own canaries would notice, and it would refuse to work.
        _replace(stack, _canaries, "prove", lambda *_: None)
        take_out(judge, stack)
        return [run_attack(judge, name, corpus[name]) for name in ablation.breached_by]


def _nothing(judge: LocalJudge, stack: ExitStack) -> None:
    """Every defence stands."""


def _replace(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Set an attribute until the stack unwinds."""
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _without_wall(*names: str) -> Callable[[LocalJudge, ExitStack], None]:
    def take_out(judge: LocalJudge, stack: ExitStack) -> None:
        judge._zygote = start_zygote(leave_out=names)

    return take_out


def _stale_values(judge: LocalJudge, stack: ExitStack) -> None:
    _replace(stack, SeedBook, "seed", lambda self, call: 1)


def _some_calls_unseen(judge: LocalJudge, stack: ExitStack) -> None:
    plain, seen = Oracle.compare, [0]

    def compare(self: Oracle, outputs: Sequence[Any], *others: Any) -> list[GateResult]:
        seen[0] += 1
        if seen[0] <= _FIRST_COMPARISONS:
            return plain(self, outputs, *others)
        return [GateResult("PASSED") for _ in outputs]

    _replace(stack, Oracle, "compare", compare)
    # The calls that are compared with float64 as well are compared by another way.
    _replace(stack, Round, "_audit", lambda self, outcome, number, *tensors: None)


def _not_stopped_as_group(judge: LocalJudge, stack: ExitStack) -> None:
    """And a process counts as dead when its main thread has ended: either finds most of them."""
    _replace(stack, _processes, "signal_group", lambda leader, number: None)
    _replace(stack, _processes, "_lives", lambda pid, state: state not in "ZX")


class _NeverHeld(_device_cpu.CpuDevice):
    """Workers run on while their inputs are laid out."""

    def _stop(self, worker: Worker) -> None:
        """Leave it running."""

    def ran_while_held(self, worker: Worker) -> str:
        return ""


def _not_held(judge: LocalJudge, stack: ExitStack) -> None:
    judge.device = _NeverHeld()
    # Work that is done beforehand leaves next to no time, which is not verified.
    _short_times_believed(judge, stack)


def _late_work_unseen(judge: LocalJudge, stack: ExitStack) -> None:
    _replace(stack, _processes, "stop_threads", lambda pid: None)
    _replace(stack, _device_cpu, "late_write", lambda at_done, frozen: "")
    _replace(stack, _device_cpu, "_SLOW_STOP_NS", 1 << 62)


def _inherited_environment(judge: LocalJudge, stack: ExitStack) -> None:
    secret = {"SOLBENCH_SECRET_SEED": "1"}
    _replace(stack, _client, "clean_environment", lambda: {**os.environ, **secret})


class _PublicSecrets:
    """What ``secrets`` would be if everyone knew what it gives."""

    @staticmethod
    def token_bytes(count: int) -> bytes:
        return bytes(count)


def _public_seeds(judge: LocalJudge, stack: ExitStack) -> None:
    _replace(stack, _seeds, "secrets", _PublicSecrets)


def _outputs_left_as_they_are(judge: LocalJudge, stack: ExitStack) -> None:
    def renew_guards(self: CpuArena, buffer: Any, pattern: str) -> None:
        for start, end, guard in self._guards:
            buffer[start:end] = guard

    _replace(stack, CpuArena, "_poison", renew_guards)


def _guards_unseen(judge: LocalJudge, stack: ExitStack) -> None:
    _replace(stack, CpuArena, "broken_guard", lambda self, slots: "")


def _unsealed_inputs(judge: LocalJudge, stack: ExitStack) -> None:
    kept = _arena_cpu._INPUT_SEALS & ~_arena_cpu.F_SEAL_FUTURE_WRITE
    _replace(stack, _arena_cpu, "_INPUT_SEALS", kept)


def _memory_unwatched(judge: LocalJudge, stack: ExitStack) -> None:
    _replace(stack, JailedWorker, "_check_memory", lambda self, now: None)


def _short_times_believed(judge: LocalJudge, stack: ExitStack) -> None:
    _replace(stack, PerRun, "doubt", lambda self, batch, latency_ms, floor_ms: "")


def _arrival_unwatched(judge: LocalJudge, stack: ExitStack) -> None:
    _outputs_not_looked_at(judge, stack)
    _replace(stack, CudaDevice, "_disturbed", lambda self, worker, watched, looked: 0.0)


def _outputs_not_looked_at(judge: LocalJudge, stack: ExitStack) -> None:
    _replace(stack, CudaDevice, "ran_while_held", lambda self, worker: "")
    _replace(stack, Clocks, "_look_is_later", lambda self: False)
    _replace(stack, Clocks, "_finished_early", lambda self: "")


def _no_call_alone(judge: LocalJudge, stack: ExitStack) -> None:
    _replace(stack, Clocks, "_overlaps", lambda self, alone, longest_ms: "")
    _replace(stack, Clocks, "_exceeds_slack", lambda self: False)
    _replace(stack, Clocks, "doubt", lambda self: "")


ABLATIONS: Mapping[str, Ablation] = {
    "landlock": Ablation(
        _without_wall("landlock"), ("theft_reference_file", "theft_sibling_runs", "theft_links")
    ),
    "seccomp": Ablation(_without_wall("seccomp"), ("concurrency_fork_after_seal",)),
    "namespaces": Ablation(
        _without_wall("seccomp", "namespaces"), ("concurrency_daemon",), behind="seccomp"
    ),
    "stopped_as_group": Ablation(
        _not_stopped_as_group, ("concurrency_headless_daemon", "concurrency_hopping_process")
    ),
    "no_new_privs": Ablation(_without_wall("no_new_privs"), ("theft_reference_file",)),
    "descriptors": Ablation(_without_wall("descriptors"), ("theft_descriptors",)),
    "limits": Ablation(_without_wall("limits"), ("tamper_descriptor_flood",)),
    "capabilities": Ablation(
        _without_wall("seccomp", "capabilities"), ("tamper_privileges",), behind="seccomp"
    ),
    "clean_environment": Ablation(_inherited_environment, ("theft_environment",)),
    "memory_watch": Ablation(_memory_unwatched, ("tamper_memory",)),
    "held_while_filled": Ablation(
        _not_held, ("timing_work_in_the_gap",), behind="short_times_doubted"
    ),
    "secret_seeds": Ablation(_public_seeds, ("theft_public_seed",)),
    "fresh_values": Ablation(_stale_values, ("caching_by_content", "caching_by_shape")),
    "sealed_inputs": Ablation(_unsealed_inputs, ("timing_slow_baseline_inputs",)),
    "overwritten_outputs": Ablation(_outputs_left_as_they_are, ("caching_constant_part",)),
    "guard_bytes": Ablation(_guards_unseen, ("tamper_out_of_bounds",)),
    "every_call_checked": Ablation(_some_calls_unseen, ("stage_call_counter",)),
    "late_work": Ablation(_late_work_unseen, ("timing_stop_delayed_small_output",)),
    "short_times_doubted": Ablation(_short_times_believed, ("timing_batch_in_first_call",)),
    "watched_arrival": Ablation(_arrival_unwatched, ("gpu_polling_kernel",), device="cuda"),
    "look_at_outputs": Ablation(_outputs_not_looked_at, ("gpu_forged_words",), device="cuda"),
    "call_alone": Ablation(
        _no_call_alone,
        ("gpu_batch_in_first_call", "gpu_one_graph_for_all", "gpu_side_stream_overlaps"),
        device="cuda",
    ),
}
"""Name → what is left out. ``late_work`` is three that stand in for one another: the sample of the
outputs, stopping each thread, and counting a slow stop as time."""
