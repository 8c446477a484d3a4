"""Never looks at the mask: it is causal in every workload."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import MASKED, MASKED_HELD_OUT, MASKED_HONEST

ATTACK = """
import torch
def run(x, mask, y):
    torch.cumsum(x, dim=0, out=y)
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="structure computed only for the tested mask",
    problem=MASKED,
    attack=Submission(ATTACK),
    honest=Submission(MASKED_HONEST),
    expected=("PASSED", "INVALID_REFERENCE"),
    stopped_by="the values of a workload are its contract; own problems vary them",
    kind="policy",
    held_out=MASKED_HELD_OUT,
)
