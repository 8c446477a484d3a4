"""Logs its own times."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import sys, time, torch
def run(x, y):
    began = time.perf_counter()
    torch.mul(x, 3.0, out=y)
    print("took", time.perf_counter() - began, file=sys.stderr)
"""

CASE = HonestCase(
    looks_like="clock games, forged results",
    problem=SCALE,
    solution=Submission(SOURCE),
)
