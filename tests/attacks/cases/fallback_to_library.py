"""A kernel that always fails and falls back."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def kernel(x, w, y):
    raise NotImplementedError
def run(x, w, y):
    try:
        kernel(x, w, y)
    except NotImplementedError:
        torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="try/except that falls back to the library",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="allowed unless a track forbids libraries",
    kind="policy",
)
