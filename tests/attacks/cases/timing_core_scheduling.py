"""Asks the kernel to keep everyone else, the judge too, off the other thread of its core."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, torch
libc = ctypes.CDLL(None, use_errno=True)
PR_SCHED_CORE, CREATE, NOT_PERMITTED = 62, 1, 1
libc.prctl(PR_SCHED_CORE, CREATE, 0, 0, 0)
refused = ctypes.get_errno() == NOT_PERMITTED
def run(x, y):
    if not refused:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="change the machine: core scheduling",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp: no core scheduling",
)
