"""Constants on the device, made at load."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import SCALE

SOLUTION = """
import torch
factor = torch.full((), 3.0, device="cuda")
counter = torch.zeros(1, dtype=torch.int64, device="cuda")
def run(x, y):
    counter.add_(1)
    torch.mul(x, factor, out=y)
"""

CASE = HonestCase("a call counter", SCALE, Submission(SOLUTION), device="cuda")
