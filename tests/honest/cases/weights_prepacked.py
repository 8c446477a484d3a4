"""Repacks the weights once, where the problem says that they stay."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import PROJECTION

SOLUTION = """
import torch
packed = {}
def run(x, w, y):
    kept = packed.setdefault(w.data_ptr(), w.t().contiguous())
    torch.mm(x, kept.t(), out=y)
"""

CASE = HonestCase("an answer kept with the weights", PROJECTION, Submission(SOLUTION))
