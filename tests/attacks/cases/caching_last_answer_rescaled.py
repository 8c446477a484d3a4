"""Assumes that inputs differ by a factor."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
last = []
def run(x, w, y):
    if not last:
        last[:] = [x.clone(), torch.tanh(x @ w) @ w]
    y.copy_(last[1] * (x[0, 0] / last[0][0, 0]))
"""

CASE = AttackCase(
    family="caching",
    behaviour="derive the answer from the last one",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
