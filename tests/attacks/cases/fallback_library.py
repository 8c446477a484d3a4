"""A library call behind a thin wrapper."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def run(x, w, y):
    torch.mm(torch.tanh(torch.mm(x, w)), w, out=y)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="a library call behind a thin wrapper",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="allowed unless a track forbids libraries",
    kind="policy",
)
