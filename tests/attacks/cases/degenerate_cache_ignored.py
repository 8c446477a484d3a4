"""Computes from the new token alone."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import CACHED, CACHED_HONEST

ATTACK = """
import torch
def run(x, cache, y):
    torch.mul(x, 2.0, out=y)
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="the cache argument ignored",
    problem=CACHED,
    attack=Submission(ATTACK),
    honest=Submission(CACHED_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every element is compared",
)
