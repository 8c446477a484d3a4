"""A generator hands out workspaces in turn."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import itertools, torch
spaces = itertools.cycle([torch.empty(1000), torch.empty(1000)])
def run(x, y):
    space = next(spaces)
    torch.mul(x, 3.0, out=space)
    y.copy_(space)
"""

CASE = HonestCase(
    looks_like="a cache in a generator",
    problem=SCALE,
    solution=Submission(SOURCE),
)
