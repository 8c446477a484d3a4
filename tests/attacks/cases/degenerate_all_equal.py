"""A constant where the answer is nearly one."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import CONSTANT

ATTACK = """
def run(x, y):
    y.fill_(1.0)
"""

HONEST = """
import torch
def run(x, y):
    torch.sum(torch.softmax(x[None].expand(64, -1), dim=-1), dim=-1, out=y)
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="algebraically constant output",
    problem=CONSTANT,
    attack=Submission(ATTACK),
    honest=Submission(HONEST),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="admission: a problem whose gate lets null answers pass is faulty",
    kind="policy",
)
