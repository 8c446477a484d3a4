"""Leaves numbers in its inputs' files on which the reference would be slow, and wrong: then it is not timed."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import GROWTH, GROWTH_HONEST

ATTACK = """
import os, torch
slow = bytes(torch.full((1 << 20,), 1e30).view(torch.uint8).numpy())
def spoil():
    for name in os.listdir("/proc/self/fd"):
        try:
            if "inputs" in os.readlink(f"/proc/self/fd/{name}"):
                os.pwrite(int(name), slow, 0)
        except OSError:
            pass
def run(x, y):
    y.zero_()
    for k in range(1, 13):
        y += torch.exp(x / k)
    spoil()
"""

CASE = AttackCase(
    family="timing",
    behaviour="slow the baseline through the inputs that it shares",
    problem=GROWTH,
    attack=Submission(ATTACK),
    honest=Submission(GROWTH_HONEST),
    expected=("PASSED",),
    stopped_by="inputs are sealed and mapped privately",
)
