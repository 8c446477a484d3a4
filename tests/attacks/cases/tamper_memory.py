"""Takes more memory than it is given: a gigabyte above the limit, for a moment."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
calls = [0]
def run(x, y):
    calls[0] += 1
    if calls[0] == 1:
        kept = [torch.ones(16 << 20) for _ in range(48)]
        calls.append(sum(float(each[-1]) for each in kept))
    if len(calls) > 1:
        torch.mul(x, 3.0, out=y)
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
