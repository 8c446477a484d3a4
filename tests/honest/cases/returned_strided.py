"""Returns a tensor that is not contiguous."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SOFTMAX

SOURCE = """
import torch
def run(x):
    return torch.softmax(x.t(), dim=0).t()
"""

CASE = HonestCase(
    looks_like="lies about its layout",
    problem=SOFTMAX,
    solution=Submission(SOURCE, returns=True),
)
