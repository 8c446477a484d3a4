"""Times two variants on the first call of each shape and keeps the faster."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import time, torch
def one(x, y):
    torch.mul(x, 3.0, out=y)
def two(x, y):
    torch.add(x, x, alpha=2.0, out=y)
best = {}
def timed(variant, x, y):
    began = time.perf_counter()
    for _ in range(5):
        variant(x, y)
    return time.perf_counter() - began
def run(x, y):
    if len(x) not in best:
        best[len(x)] = min((one, two), key=lambda variant: timed(variant, x, y))
    best[len(x)](x, y)
"""

CASE = HonestCase(
    looks_like="slow warm-up, clock games",
    problem=SCALES,
    solution=Submission(SOURCE),
)
