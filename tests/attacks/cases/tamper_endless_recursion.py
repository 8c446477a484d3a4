"""Recursion without end."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import sys
sys.setrecursionlimit(1 << 30)
def run(x, y):
    run(x, y)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="crash the worker in the C stack",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR", "TIMEOUT"),
    stopped_by="a death is a verdict; the worker is replaced",
)
