"""Has a handler of its own for a signal that never comes."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOLUTION = """
import faulthandler, signal, torch
faulthandler.enable()
signal.signal(signal.SIGTERM, lambda *_: None)
def run(x, y):
    torch.mul(x, 3.0, out=y)
"""

CASE = HonestCase("signal tricks", SCALE, Submission(SOLUTION))
