"""Keeps a workspace for each shape."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import torch
spaces = {}
def run(x, y):
    space = spaces.setdefault(tuple(x.shape), torch.empty_like(x))
    torch.mul(x, 3.0, out=space)
    y.copy_(space)
"""

CASE = HonestCase(
    looks_like="a cache by shape",
    problem=SCALES,
    solution=Submission(SOURCE),
)
