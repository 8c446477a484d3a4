"""Exact for small sizes, sloppy for large ones."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALES

ATTACK = """
import torch
def run(x, y):
    if len(x) < 2000:
        torch.mul(x, 3.0, out=y)
    else:
        y[: len(x) // 2] = x[: len(x) // 2] * 3.0
"""

HONEST = """
import torch
def run(x, y):
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="exact for small sizes, sloppy for large",
    problem=SCALES,
    attack=Submission(ATTACK),
    honest=Submission(HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every workload and every element is compared",
)
