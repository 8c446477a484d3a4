"""Lets the kernel go on for it while it is stopped: asynchronous input and output."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, platform, torch
libc = ctypes.CDLL(None, use_errno=True)
context = ctypes.c_ulong(0)
libc.syscall(206 if platform.machine() == "x86_64" else 0, 8, ctypes.byref(context))
refused = ctypes.get_errno() == 1
def run(x, y):
    if not refused:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="a slower baseline: the kernel's asynchronous input and output goes on while it is stopped",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp: no asynchronous input and output",
)
