"""Reads one byte in every two megabytes of a terabyte: no page is its own, the tables of pages are."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import ctypes, numpy, time, torch
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE = 3 << 39
address = libc.mmap(None, SIZE, 1, 0x4022, -1, 0)
libc.madvise(address, SIZE, 15)
table = (ctypes.c_char * SIZE).from_address(address)
sum_of = numpy.frombuffer(table, dtype=numpy.uint8)[:: 2 << 20].sum()
def run(x, y):
    time.sleep(0.12)
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="hoarding memory: in tables of pages",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="the judge counts tables of pages",
)
