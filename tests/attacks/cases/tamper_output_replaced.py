"""Maps memory of its own over its outputs: what it writes there is seen by itself alone."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, torch
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def run(x, y):
    first = y.data_ptr() & ~0xFFF
    libc.mmap(first, (y.data_ptr() + y.nbytes - first + 0xFFF) & ~0xFFF, 3, 0x32, -1, 0)
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="replace the mapping of the outputs",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR"),
    stopped_by="the judge has a mapping of its own",
)
