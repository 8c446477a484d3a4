"""A constant below the absolute tolerance."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import WEAK

ATTACK = """
def run(x, y):
    y.fill_(1e-6)
"""

HONEST = """
import torch
def run(x, y):
    torch.mul(x, 1e-3, out=y)
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="zeros within an absolute tolerance",
    problem=WEAK,
    attack=Submission(ATTACK),
    honest=Submission(HONEST),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="admission: a problem whose gate lets null answers pass is faulty",
    kind="policy",
)
