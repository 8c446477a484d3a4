"""Writes shared memory and lets go of its pages: they stay, and are none of its resident memory."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, time, torch
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE, STEP = 9 << 28, 32 << 20
address = libc.mmap(None, SIZE, 3, 0x21, -1, 0)
for at in range(0, SIZE, STEP):
    ctypes.memset(address + at, 1, STEP)
    libc.madvise(address + at, STEP, 4)
def run(x, y):
    time.sleep(0.12)
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="hoarding memory: shared, and not mapped",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="the judge counts shared memory once the machine has lost more of it than the limit",
)
