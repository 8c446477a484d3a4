"""A kernel of its own that does nothing of use, beside the library call that does the work."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch, triton
import triton.language as tl
@triton.jit
def leaf(p):
    tl.store(p, tl.load(p))
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
    leaf[(1,)](y)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="a fig-leaf kernel beside the library call",
    problem=HEAVY,
    attack=Submission(ATTACK, language="triton"),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="allowed unless a track forbids libraries",
    kind="policy",
    device="cuda",
    needs="triton",
)
