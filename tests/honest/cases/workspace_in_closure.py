"""A closure owns its workspace."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import torch
def make():
    space = {}
    def run(x, y):
        if len(x) not in space:
            space[len(x)] = torch.empty(len(x))
        torch.mul(x, 3.0, out=space[len(x)])
        y.copy_(space[len(x)])
    return run
inner = make()
def run(x, y):
    inner(x, y)
"""

CASE = HonestCase(
    looks_like="a cache in a closure",
    problem=SCALES,
    solution=Submission(SOURCE),
)
