"""Honest where the output does not begin as zeros."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x, y):
    if y.any():
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="sniff the poison for the checked call",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every timed call is compared",
)
