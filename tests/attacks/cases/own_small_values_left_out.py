"""Leaves out the smaller half of the values, which the budget of the larger ones covers."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SPREAD, SPREAD_HONEST

ATTACK = """
import torch
def run(x, y):
    torch.softmax(x * 3.0, dim=-1, out=y)
    y.masked_fill_(y < y.median(dim=-1, keepdim=True).values, 0.0)
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="small values left out: one error budget for all of an output",
    problem=SPREAD,
    attack=Submission(ATTACK),
    honest=Submission(SPREAD_HONEST),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="a budget is a share of an output's root mean square: allowed as far as that goes",
    kind="policy",
)
