"""Answers with negative zeros, which are no zeros bit by bit."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import WEAK, WEAK_HONEST

ATTACK = """
import torch
def run(x, y):
    y.fill_(-0.0)
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="negative zeros",
    problem=WEAK,
    attack=Submission(ATTACK),
    honest=Submission(WEAK_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the gate: zeros of either sign are zeros",
)
