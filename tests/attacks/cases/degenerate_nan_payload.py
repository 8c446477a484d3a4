"""Hides right answers in the bits of NaNs."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x, y):
    bits = (x * 3.0).view(torch.int32) & 0x3FFFFF
    y.copy_((bits | 0x7FC00000).view(torch.float32))
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="NaN with a payload",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the gate: NaN fails",
)
