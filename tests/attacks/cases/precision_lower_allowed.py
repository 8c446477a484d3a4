"""Sixteen bits where a problem's tolerance lets them through."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import ROUGH, SCALE_HONEST

ATTACK = """
import torch
def run(x, y):
    y.copy_(x.to(torch.bfloat16) * 3.0)
"""

CASE = AttackCase(
    family="precision",
    behaviour="lower precision where the tolerance allows it",
    problem=ROUGH,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("PASSED",),
    stopped_by="allowed by a public tolerance; own problems have error budgets",
    kind="policy",
)
