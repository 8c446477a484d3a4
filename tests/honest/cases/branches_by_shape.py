"""One path for small inputs, another for large ones; both are right."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOLUTION = """
import torch
def small(x, y):
    y.numpy()[:] = x.numpy() * 3.0
def large(x, y):
    torch.mul(x, 3.0, out=y)
def run(x, y):
    (small if len(x) < 5000 else large)(x, y)
"""

CASE = HonestCase("sloppy for large sizes", SCALES, Submission(SOLUTION))
