"""The baseline handed in as it is."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def run(x, w):
    return torch.tanh(x @ w) @ w
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="the baseline resubmitted",
    problem=HEAVY,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="allowed: it scores as the baseline does",
    kind="policy",
)
