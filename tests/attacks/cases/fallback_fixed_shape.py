"""Works for the listed shape alone."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST, SCALES

ATTACK = """
import torch
def run(x, y):
    assert x.shape == (1000,)
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="hard-coded shapes",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("PASSED",),
    stopped_by="allowed: workloads name their shapes",
    kind="policy",
    held_out=SCALES,
)
