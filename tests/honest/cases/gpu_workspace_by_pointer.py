"""Workspaces kept by the address of the output."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import HEAVY

SOLUTION = """
import torch
spaces = {}
def run(x, w, y):
    space = spaces.setdefault(y.data_ptr(), torch.empty_like(y))
    torch.mm(x, w, out=space)
    torch.mm(space.tanh_(), w, out=y)
"""

CASE = HonestCase("cache by data_ptr", HEAVY, Submission(SOLUTION), device="cuda")
