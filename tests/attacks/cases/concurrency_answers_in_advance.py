"""Writes into the outputs of calls to come, and does nothing where something stands already."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
known = {}
def run(x, y):
    known[y.data_ptr()] = y
    if bool(y.any()):
        return
    for each in known.values():
        torch.mul(x, 3.0, out=each)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="outputs of other calls, written in advance",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "PASSED"),
    stopped_by="outputs are overwritten before each call; every call has its own values",
)
