"""Hands the input back."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def run(x, y):
    y.copy_(x)
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="input passed through",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the problem's tolerance",
)
