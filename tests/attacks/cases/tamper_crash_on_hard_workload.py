"""Leaves where it would be slow."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALES

ATTACK = """
import os, torch
def run(x, y):
    if len(x) > 2000:
        os._exit(0)
    torch.mul(x, 3.0, out=y)
"""

HONEST = """
import torch
def run(x, y):
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="crash on the hard workloads so that only easy ones count",
    problem=SCALES,
    attack=Submission(ATTACK),
    honest=Submission(HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="every workload has a verdict; a failure scores 0",
)
