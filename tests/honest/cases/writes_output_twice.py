"""Uses its output as scratch before the result goes there."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SOFTMAX

SOLUTION = """
import torch
def run(x, y):
    y.fill_(float("nan"))
    torch.sub(x, x.amax(dim=-1, keepdim=True), out=y)
    y.exp_()
    y.div_(y.sum(dim=-1, keepdim=True))
"""

CASE = HonestCase("NaN in the output", SOFTMAX, Submission(SOLUTION))
