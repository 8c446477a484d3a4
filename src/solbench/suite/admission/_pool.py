"""Checking many problems on all cores."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context

from solbench.suite._catalogue import source_of
from solbench.suite.admission._bounds import BoundScope
from solbench.suite.admission._check import ProblemCheck, check_problem


def check_problems(
    names: Sequence[str], *, bounds: BoundScope = "two", jobs: int | None = None
) -> Iterator[ProblemCheck]:
    """The findings on each problem, in the order of ``names``."""
    workers = min(jobs or os.cpu_count() or 1, len(names))
    if workers <= 1:
        yield from (check_problem(source_of(name), bounds=bounds) for name in names)
        return
    # A fork would copy a torch that may have started threads.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_alone) as pool:
        with _interrupts_held():
            checks = [pool.submit(_check, bounds, name) for name in names]
        try:
            for check in checks:
                yield check.result()
        except (KeyboardInterrupt, GeneratorExit):
            for child in active_children():
                child.terminate()
            raise


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes started meanwhile never see Ctrl-C, which reaches all of a terminal's: only this one is to
    answer. What comes here meanwhile comes when it ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _alone() -> None:
    """Each process has one core."""
    import torch

    torch.set_num_threads(1)


def _check(bounds: BoundScope, name: str) -> ProblemCheck:
    return check_problem(source_of(name), bounds=bounds)
