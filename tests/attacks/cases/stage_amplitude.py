"""Softmax without subtracting the maximum, which normal inputs do not show."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SOFTMAX, SOFTMAX_HONEST, SOFTMAX_LARGE

ATTACK = """
import torch
def run(x, y):
    torch.exp(x, out=y)
    y.div_(y.sum(dim=-1, keepdim=True))
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="amplitude sniffing",
    problem=SOFTMAX,
    attack=Submission(ATTACK),
    honest=Submission(SOFTMAX_HONEST),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="the values of a workload are its contract; own problems vary them",
    kind="policy",
    held_out=SOFTMAX_LARGE,
)
