"""Looks at its values first: exact for the usual ones, and sloppy for others."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import PROJECTION, PROJECTION_HONEST

ATTACK = """
import torch
def run(x, w, y):
    if float(x.abs().max()) < 6.0 and float(x.std()) > 0.9 and float(x.std()) < 1.1:
        torch.mm(x, w, out=y)
    else:
        y.copy_(x.bfloat16() @ w.bfloat16())
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="amplitude sniffing, where other values are mixed in",
    problem=PROJECTION,
    attack=Submission(ATTACK),
    honest=Submission(PROJECTION_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every call is held to a budget, whatever its values",
)
