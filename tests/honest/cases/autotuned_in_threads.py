"""Tunes in threads during set-up."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import threading, torch
choice = []
def setup(inputs_spec):
    found = []
    def attempt(value):
        found.append((abs(value), value))
    threads = [threading.Thread(target=attempt, args=(value,)) for value in (3.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    choice[:] = [min(found)[1]]
def run(x, y):
    torch.mul(x, choice[0], out=y)
"""

CASE = HonestCase(
    looks_like="threads left running",
    problem=SCALE,
    solution=Submission(SOURCE),
)
