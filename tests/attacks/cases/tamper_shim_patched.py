"""Replaces the shim's methods."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import sys
shim = sys.modules["solbench.jail.worker_cpu"].CpuDevice
shim.run = lambda self, layout, first, count: None
shim.run.__code__ = (lambda self, layout, first, count: None).__code__
def run(x, y):
    y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="patch the runner: __code__, sys.modules",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="nothing of the judge is in the worker's process",
)
