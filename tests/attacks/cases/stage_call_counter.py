"""Honest for the first calls."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
calls = [0]
def run(x, y):
    calls[0] += 1
    if calls[0] <= 24:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="call counter",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every timed call is compared",
)
