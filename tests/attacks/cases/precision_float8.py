"""Computes on eight-bit numbers, in fp8 by name and in magnitude."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x, y):
    torch.mul(x.to(torch.float8_e4m3fn).float(), 3.0, out=y)
"""

CASE = AttackCase(
    family="precision",
    behaviour="fp8 only for nominal magnitudes",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the problem's tolerance",
)
