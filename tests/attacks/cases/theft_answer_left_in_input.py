"""Writes the answer into the input, to find it there next time."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
known = set()
def run(x, y):
    if x.data_ptr() in known:
        y.copy_(x)
        return
    known.add(x.data_ptr())
    torch.mul(x, 3.0, out=y)
    x.copy_(y)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="leave the answer in an input buffer for the next call",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="inputs are mapped afresh each call",
)
