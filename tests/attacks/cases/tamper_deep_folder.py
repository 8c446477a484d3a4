"""Folders within folders, deeper than a path can be long or a function can call itself."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
for _ in range(1100):
    os.mkdir("deep", 0o700)
    os.chdir("deep")
os.mkdir("closed", 0)
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="leave something behind: a folder too deep to be removed",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the folder ends with the worker, however deep",
)
