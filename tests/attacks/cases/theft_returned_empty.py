"""Returns uninitialised memory."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x):
    return torch.empty_like(x)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="empty() that aliases a freed expected output",
    problem=SCALE,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="nothing of the judge is in the worker's process",
)
