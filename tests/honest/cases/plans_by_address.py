"""Remembers tensors by address and reads them anew."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import torch
plans = {}
def run(x, y):
    key = (x.data_ptr(), y.data_ptr())
    if key not in plans:
        plans[key] = (x, y)
    a, b = plans[key]
    torch.mul(a, 3.0, out=b)
"""

CASE = HonestCase(
    looks_like="a cache by data_ptr",
    problem=SCALE,
    solution=Submission(SOURCE),
)
