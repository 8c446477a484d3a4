"""A reciprocal root after one Newton step in place of three."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import ROOT, ROOT_HONEST

ATTACK = """
import torch
def run(x, y):
    s = x * x + 1.0
    guess = (0x5F3759DF - (s.view(torch.int32) >> 1)).view(torch.float32)
    y.copy_(guess * (1.5 - 0.5 * s * guess * guess))
"""

CASE = AttackCase(
    family="precision",
    behaviour="fewer Newton steps",
    problem=ROOT,
    attack=Submission(ATTACK),
    honest=Submission(ROOT_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the problem's tolerance",
)
