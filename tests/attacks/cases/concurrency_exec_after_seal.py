"""Starts a program when it is sealed: in its own place, and beside it."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, subprocess, sys, torch
calls = [0]
def run(x, y):
    calls[0] += 1
    if calls[0] <= 16:
        torch.mul(x, 3.0, out=y)
        return
    try:
        subprocess.run([sys.executable, "-c", ""], check=True)
        torch.mul(x, 3.0, out=y)
    except OSError:
        pass
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="a program started after the seal",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the seal denies exec and fork",
)
