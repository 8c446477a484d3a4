"""Collects garbage and looks at objects."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import gc, torch
def run(x, y):
    torch.mul(x, 3.0, out=y)
    gc.collect(0)
"""

CASE = HonestCase(
    looks_like="a search through gc",
    problem=SCALE,
    solution=Submission(SOURCE),
)
