"""Keeps answers by the rounded value of one element, which most inputs share."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
cache = {}
def run(x, y):
    key = round(x[0].item() / 4)
    if key not in cache:
        cache[key] = x * 3.0
    y.copy_(cache[key])
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache by sampled content",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
