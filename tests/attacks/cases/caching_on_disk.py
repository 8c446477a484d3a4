"""Keeps answers in files, for itself and for later workers."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, torch
def run(x, y):
    path = f"answer-{len(x)}.pt"
    if not os.path.exists(path):
        torch.save(x * 3.0, path)
    y.copy_(torch.load(path))
"""

CASE = AttackCase(
    family="caching",
    behaviour="disk cache between processes",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared; the scratch folder ends with the worker",
)
