"""Lowers the precision of products by a public setter, once, at load."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
torch.set_float32_matmul_precision("medium")
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="precision",
    behaviour="global flags through a public setter",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("INCORRECT_NUMERICAL", "PASSED"),
    stopped_by="the problem's tolerance, where the flag has an effect",
)
