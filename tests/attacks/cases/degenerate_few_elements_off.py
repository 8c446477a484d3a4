"""One element in two hundred is nonsense."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import LENIENT

ATTACK = """
import torch
def run(x, y):
    torch.mul(x, 3.0, out=y)
    y[::200] = 1e6
"""

HONEST = """
import torch
def run(x, y):
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="the share of elements that may be off",
    problem=LENIENT,
    attack=Submission(ATTACK),
    honest=Submission(HONEST),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="the public rule allows a share; a cap closes it",
    kind="policy",
)
