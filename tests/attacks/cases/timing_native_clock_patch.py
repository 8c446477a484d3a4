"""The first bytes of the C library's clock are overwritten."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = r"""
import ctypes, os, platform, torch
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
address = ctypes.cast(libc.clock_gettime, ctypes.c_void_p).value
# The clock stands at zero: both words of the time are cleared, and the call succeeds.
X86 = b"\x31\xc0\x48\x89\x06\x48\x89\x46\x08\xc3"
ARM = b"\x3f\x7c\x00\xa9\x00\x00\x80\x52\xc0\x03\x5f\xd6"
code = X86 if platform.machine() == "x86_64" else ARM
if libc.mprotect(address & ~4095, 8192, 7) == 0:
    ctypes.memmove(address, code, len(code))
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="native patch of the timer: function prologue",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the clock is the judge's own, in another process",
)
