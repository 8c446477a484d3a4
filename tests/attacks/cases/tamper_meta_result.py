"""Returns a tensor that has a form and no values."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x):
    return torch.empty(x.shape, dtype=x.dtype, device="meta")
"""

CASE = AttackCase(
    family="tampering",
    behaviour="a tensor without values",
    problem=SCALE,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="results are copied: there is nothing to copy",
)
