"""Holds three gigabytes in files that no folder names any more."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, time, torch
held = []
for number in range(3):
    held.append(os.open(f"f{number}", os.O_RDWR | os.O_CREAT))
    os.unlink(f"f{number}")
    os.posix_fallocate(held[-1], 0, 1 << 30)
def run(x, y):
    time.sleep(0.12)
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="hoarding memory: in files without a name",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="the judge counts what descriptors hold",
)
