"""Honest where an address is new."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
seen = {}
def run(x, y):
    seen[x.data_ptr()] = seen.get(x.data_ptr(), 0) + 1
    if seen[x.data_ptr()] <= 2:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="repeated pointers reveal the warm-up",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every timed call is compared",
)
