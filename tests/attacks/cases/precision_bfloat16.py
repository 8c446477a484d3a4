"""Products in bfloat16."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def run(x, w, y):
    v = w.bfloat16()
    y.copy_(torch.tanh(x.bfloat16() @ v) @ v)
"""

CASE = AttackCase(
    family="precision",
    behaviour="fp32 computed in bf16",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the problem's tolerance",
)
