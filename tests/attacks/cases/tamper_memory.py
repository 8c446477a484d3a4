"""Takes memory without end."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
kept = []
def run(x, y):
    while True:
        kept.append(torch.ones(16 << 20))
"""

CASE = AttackCase(
    family="tampering",
    behaviour="hoarding memory",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="the judge watches resident memory",
)
