"""Ends by a signal that has a number and no name."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import signal, torch
calls = []
def run(x, y):
    torch.mul(x, 3.0, out=y)
    calls.append(1)
    if len(calls) > 20:
        signal.raise_signal(50)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="an end that the judge has no word for",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="a death is a verdict, by whatever signal",
)
