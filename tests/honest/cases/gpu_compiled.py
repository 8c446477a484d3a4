"""``torch.compile`` on the first call."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import CHAIN

SOLUTION = """
import torch
@torch.compile
def chain(x):
    for _ in range(10):
        x = torch.sin(x) * 1.5
    return x
def run(x, y):
    y.copy_(chain(x))
"""

CASE = HonestCase(
    "code that is made at run time", CHAIN, Submission(SOLUTION), device="cuda", needs="g++"
)
