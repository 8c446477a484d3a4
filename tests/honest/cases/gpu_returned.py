"""Returns tensors of its own instead of writing into the outputs."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import HEAVY

SOLUTION = """
import torch
def run(x, w):
    return torch.tanh(x @ w) @ w
"""

CASE = HonestCase("output of its own", HEAVY, Submission(SOLUTION, returns=True), device="cuda")
