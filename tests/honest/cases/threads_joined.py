"""Splits the work over threads and joins them."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import threading, torch
def run(x, y):
    half = len(x) // 2
    def part(low, high):
        torch.mul(x[low:high], 3.0, out=y[low:high])
    threads = [threading.Thread(target=part, args=span) for span in ((0, half), (half, len(x)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

CASE = HonestCase(
    looks_like="a thread left running",
    problem=SCALES,
    solution=Submission(SOURCE),
)
