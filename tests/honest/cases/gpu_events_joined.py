"""A side stream joined by an event without timing."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import SCALE

SOLUTION = """
import torch
side = torch.cuda.Stream()
fork, join = torch.cuda.Event(), torch.cuda.Event()
def run(x, y):
    fork.record()
    side.wait_event(fork)
    with torch.cuda.stream(side):
        torch.mul(x, 3.0, out=y)
        join.record()
    join.wait()
"""

CASE = HonestCase("events without timing", SCALE, Submission(SOLUTION), device="cuda")
