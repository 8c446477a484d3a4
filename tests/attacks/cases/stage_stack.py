"""Asks the stack whether this is preparation."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import sys, torch
def run(x, y):
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    if "meet" in names:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="stack sniffing for the stage",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every timed call is compared",
)
