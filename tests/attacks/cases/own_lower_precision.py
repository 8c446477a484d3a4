"""Computes in bfloat16 what is declared in float32."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import PROJECTION, PROJECTION_HONEST

ATTACK = """
import torch
def run(x, w, y):
    y.copy_(x.bfloat16() @ w.bfloat16())
"""

CASE = AttackCase(
    family="precision",
    behaviour="bf16 for fp32, beside an error budget",
    problem=PROJECTION,
    attack=Submission(ATTACK),
    honest=Submission(PROJECTION_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the error budget",
)
