"""Writes the part of the output that never changes in the first call of a slot only."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import PADDED, PADDED_HONEST

ATTACK = """
import torch
written = set()
def run(x, y):
    n = len(x)
    torch.mul(x, 3.0, out=y[:n])
    if y.data_ptr() not in written:
        written.add(y.data_ptr())
        y[n:] = 1.0
"""

CASE = AttackCase(
    family="caching",
    behaviour="leave what was written before in the output",
    problem=PADDED,
    attack=Submission(ATTACK),
    honest=Submission(PADDED_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="outputs are overwritten before each call",
)
