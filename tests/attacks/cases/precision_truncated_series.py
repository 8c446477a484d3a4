"""Three terms of tanh."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def run(x, w, y):
    a = (x @ w) * 0.01
    torch.mm((a - a * a * a / 3.0).clamp(-1, 1), w, out=y)
"""

CASE = AttackCase(
    family="precision",
    behaviour="truncated series",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the problem's tolerance",
)
