"""Constants come from an lru_cache."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import functools, torch
@functools.lru_cache
def factors(n):
    return torch.full((n,), 3.0)
def run(x, y):
    torch.mul(x, factors(len(x)), out=y)
"""

CASE = HonestCase(
    looks_like="a cache of answers",
    problem=SCALES,
    solution=Submission(SOURCE),
)
