"""Closes everything."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
def run(x, y):
    os.closerange(0, 4096)
    y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="signal and descriptor tricks on the channel",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR", "INCORRECT_NUMERICAL"),
    stopped_by="an error of the shim is a verdict",
)
