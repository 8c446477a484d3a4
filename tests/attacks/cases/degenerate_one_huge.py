"""One element is beyond all measure, so that means and sums say nothing."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x, y):
    y.zero_()
    y[0] = 3e38
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="one huge element",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="elements are compared one by one",
)
