"""A mutable default owns the workspace."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import torch
def kernel(x, y, space=[]):
    if not space:
        space.append(torch.empty(1 << 20))
    torch.mul(x, 3.0, out=space[0][: len(x)])
    y.copy_(space[0][: len(x)])
def run(x, y):
    kernel(x, y)
"""

CASE = HonestCase(
    looks_like="a cache in a default argument",
    problem=SCALES,
    solution=Submission(SOURCE),
)
