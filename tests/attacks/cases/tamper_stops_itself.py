"""Sends the stop signal to itself, and to everyone."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, signal, torch
calls = [0]
def run(x, y):
    calls[0] += 1
    if calls[0] <= 16:  # it is not sealed
        return
    for target in (-1, 0, os.getppid()):
        try:
            os.kill(target, signal.SIGSTOP)
        except OSError:
            pass
    os.kill(os.getpid(), signal.SIGSTOP)
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="stop oneself and others",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("TIMEOUT",),
    stopped_by="seccomp: no signals to others; a hang is a verdict",
)
