"""Keeps a quantised copy of an input by identity."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
kept = {}
def run(x, y):
    if id(x) not in kept:
        kept[id(x)] = x.to(torch.bfloat16)
    torch.mul(kept[id(x)], 3.0, out=y)
"""

CASE = AttackCase(
    family="caching",
    behaviour="quantised input kept by identity",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
