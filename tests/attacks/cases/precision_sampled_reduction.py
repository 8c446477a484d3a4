"""Sums every second product."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def run(x, w, y):
    h = torch.tanh(x[:, ::2] @ w[::2] * 2.0)
    torch.mm(h, w, out=y)
"""

CASE = AttackCase(
    family="precision",
    behaviour="a reduction over a sample of its elements",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the problem's tolerance",
)
