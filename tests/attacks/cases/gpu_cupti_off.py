"""Switches every record of the profiler off, from native code, again and again."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import HEAVY, HEAVY_HONEST

ATTACK = """
import ctypes, glob, os, torch
def cupti():
    mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libcupti" in line}
    for path in [*mapped, "libcupti.so", "libcupti.so.12", "libcupti.so.13"]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            pass
library = cupti()
def switch_off():
    if library is not None:
        for kind in range(64):
            library.cuptiActivityDisable(kind)
        library.cuptiActivityFlushAll(1)
def run(x, w, y):
    switch_off()
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="CUPTI switched off by native code",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="records rank nothing: the clock is the judge's own",
    device="cuda",
)
