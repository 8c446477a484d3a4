"""Clamps what a normal distribution hardly reaches."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SOFTMAX, SOFTMAX_HONEST, SOFTMAX_LARGE

ATTACK = """
import torch
def run(x, y):
    torch.softmax(x.clamp(-8.0, 8.0), dim=-1, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="distribution tails",
    problem=SOFTMAX,
    attack=Submission(ATTACK),
    honest=Submission(SOFTMAX_HONEST),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="the values of a workload are its contract; own problems vary them",
    kind="policy",
    held_out=SOFTMAX_LARGE,
)
