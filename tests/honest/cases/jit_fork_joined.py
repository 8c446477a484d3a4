"""A task of torch.jit that is waited for."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import warnings
warnings.simplefilter("ignore")
import torch
def work(x):
    return x * 3.0
def run(x, y):
    y.copy_(torch.jit.wait(torch.jit.fork(work, x)))
"""

CASE = HonestCase(
    looks_like="torch.jit.fork, never joined",
    problem=SCALE,
    solution=Submission(SOURCE),
)
