"""Whose kernels ran: the submission's own, or a library's, by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from solbench.judge.guard._tables import read_kernel_table
from solbench.spec import Definition, Flag

_LIBRARY = re.compile(
    r"^(?:void\s+)?(?:at::|at_cuda_detail::|c10::|cublas|cublasLt|cudnn|cusparse|cusolver|cufft|cub::|thrust::|nccl"
    r"|ncclDevKernel|flash::|pytorch_flash::|fmha_|cutlass_\d+_|gemv2|gemmk1|splitKreduce|sm\d+_xmma|nvjet|ampere_|volta_"
    r"|turing_|hopper_|maxwell_|dot_kernel|reduce_1Block|implicit_convolve|winograd|cask_|xmma_|_5x_cudnn)"
)
"""How the kernels of PyTorch, cuBLAS, cuDNN and their relatives are named. Names can be chosen freely, so what
looks like a library's may be one's own, and the reverse: advice, like all that a profiler in a worker says."""
_LEAST_SHARE = 0.02
"""Of kernel time in library kernels, for a flag: a fill or a cast now and then is no library's work."""
_COPIES = re.compile(r"^(?:\[?CUDA )?mem(?:cpy|set)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Authorship:
    """How the time in kernels divides."""

    own_ms: float
    library_ms: float
    copies_ms: float
    library_kernels: tuple[str, ...]
    """Names, the longest-running first."""

    @property
    def library_share(self) -> float:
        """Share of kernel time in library kernels, copies left out; 0 if there is none."""
        total = self.own_ms + self.library_ms
        return self.library_ms / total if total else 0.0


def kernel_authorship(kernels: Iterable[tuple[str, float]]) -> Authorship:
    """Divide kernels, given as (name, milliseconds), by whose they are."""
    own = library = copies = 0.0
    by_name: dict[str, float] = {}
    for name, milliseconds in kernels:
        if _COPIES.match(name):
            copies += milliseconds
        elif _LIBRARY.match(name):
            library += milliseconds
            by_name[name] = by_name.get(name, 0.0) + milliseconds
        else:
            own += milliseconds
    ordered = tuple(sorted(by_name, key=lambda name: -by_name[name]))
    return Authorship(own, library, copies, ordered)


def library_flags(definition: Definition, log: str) -> tuple[Flag, ...]:
    """``library_kernels`` where the problem forbids library calls and their kernels did part of the work."""
    own = definition.solbench
    if own is None or own.policy.library_calls:
        return ()
    table = read_kernel_table(log)
    found = kernel_authorship((each.name, each.total_ms) for each in table.kernels)
    if found.library_share < _LEAST_SHARE:
        return ()
    names = ", ".join(found.library_kernels[:3])
    evidence = f"{found.library_share:.0%} of kernel time is in library kernels: {names}"
    return (Flag(id="library_kernels", evidence=evidence),)
