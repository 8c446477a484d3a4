"""Cheats once arguments, environment or limits differ from what they were at load."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, resource, sys, threading, torch
def surroundings():
    files = (open(f"/proc/self/{name}").read() for name in ("cmdline", "environ", "limits", "cgroup"))
    return (tuple(files), tuple(sys.argv), dict(os.environ), os.getcwd(), threading.active_count())
before = surroundings()
def run(x, y):
    if surroundings() == before:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="argv or environment sniffing for the stage",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("PASSED", "INCORRECT_NUMERICAL"),
    stopped_by="nothing around it tells the stage; every timed call is compared",
)
