"""Slow at first, to shrink an adaptive count."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import time, torch
calls = [0]
def run(x, y):
    calls[0] += 1
    if calls[0] < 22:
        time.sleep(0.02)
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="slow warm-up",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("PASSED",),
    stopped_by="counts do not follow from the candidate's speed alone",
)
