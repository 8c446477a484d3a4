"""Keeps its first answer with the weights, which keep their values."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import PROJECTION, PROJECTION_HONEST

ATTACK = """
import torch
packed = {}
def run(x, w, y):
    y.copy_(packed.setdefault(w.data_ptr(), x @ w))
"""

CASE = AttackCase(
    family="caching",
    behaviour="an answer kept with the weights that may be",
    problem=PROJECTION,
    attack=Submission(ATTACK),
    honest=Submission(PROJECTION_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="all inputs but the weights change each call",
)
