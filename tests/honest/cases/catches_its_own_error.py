"""Tries an out-of-place overload that does not exist, then takes the one that does."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOLUTION = """
import torch
def run(x, y):
    try:
        torch.mul(x, 3.0, out=y, fast=True)
    except TypeError:
        torch.mul(x, 3.0, out=y)
"""

CASE = HonestCase("fallback behind try and except", SCALE, Submission(SOLUTION))
