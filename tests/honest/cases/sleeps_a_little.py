"""Waits for a moment in each call, as a thread that yields does."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOLUTION = """
import os, time, torch
def run(x, y):
    os.sched_yield()
    time.sleep(0.0002)
    torch.mul(x, 3.0, out=y)
"""

CASE = HonestCase("clocks that are read, time that is given away", SCALE, Submission(SOLUTION))
