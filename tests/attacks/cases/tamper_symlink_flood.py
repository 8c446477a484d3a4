"""A hundred thousand files and links in its folder."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
os.makedirs("a/" * 100)
for number in range(20000):
    os.symlink("/", f"link{number}")
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="slow the judge's housekeeping",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "TIMEOUT", "RUNTIME_ERROR"),
    stopped_by="files are counted up to a bound; the folder ends with the worker",
)
