"""Changes how the processor rounds, and what it does with tiny numbers."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import ctypes, torch
libm = ctypes.CDLL("libm.so.6")
FE_TOWARDZERO = 0xC00
def run(x, w, y):
    torch.set_flush_denormal(True)
    libm.fesetround(FE_TOWARDZERO)
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="precision",
    behaviour="rounding mode and flush to zero",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the problem's tolerance; the judge is another process",
)
