"""Signals to the judge, its parent and everything else."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, signal
for pid in (os.getppid(), 1, -1, 0, *range(os.getpid() - 30, os.getpid())):
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        try:
            if pid not in (0, -1) or number != signal.SIGKILL:
                os.kill(pid, number)
        except OSError:
            pass
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="kill the judge",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR", "TIMEOUT"),
    stopped_by="seccomp: no signals to others",
)
