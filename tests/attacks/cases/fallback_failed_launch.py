"""A launch that fails leaves the old buffer."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
calls = [0]
def run(x, y):
    calls[0] += 1
    try:
        if calls[0] > 18:
            raise RuntimeError("launch failed")
        torch.mul(x, 3.0, out=y)
    except RuntimeError:
        pass
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="a failed launch that leaves the old buffer",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="outputs are overwritten before each call",
)
