"""Hangs the answer on the tensor object."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
def run(x, w, y):
    if not hasattr(x, "answer"):
        x.answer = torch.tanh(x @ w) @ w
    y.copy_(x.answer)
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache on the input object",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="new tensor objects each call",
)
