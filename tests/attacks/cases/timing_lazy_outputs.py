"""Wants to fill its outputs when the judge reads them: faults handled in user space."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, platform, torch
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(323 if platform.machine() == "x86_64" else 282, 1)
refused = ctypes.get_errno() == 1
def run(x, y):
    if not refused:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="outputs that are filled when they are read",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp: no handling of page faults",
)
