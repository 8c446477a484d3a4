"""torch.compile with the first call of each shape."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import torch
@torch.compile(dynamic=False)
def kernel(x):
    return torch.sin(x) * 3.0 - torch.sin(x) * 3.0 + x * 3.0
def run(x, y):
    y.copy_(kernel(x))
"""

CASE = HonestCase(
    looks_like="code that is not there when it is read",
    problem=SCALE,
    solution=Submission(SOURCE),
    needs="g++",
)
