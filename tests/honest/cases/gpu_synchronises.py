"""Waits for the device inside the call: slow, and honest."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import SCALE

SOLUTION = """
import torch
def run(x, y):
    torch.mul(x, 3.0, out=y)
    torch.cuda.synchronize()
"""

CASE = HonestCase("tampering with synchronisation", SCALE, Submission(SOLUTION), device="cuda")
