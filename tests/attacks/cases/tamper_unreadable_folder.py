"""A folder that cannot be removed."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
os.makedirs("deep/deeper")
open("deep/deeper/file", "w").close()
os.chmod("deep", 0)
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="leave something behind",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="changes of mode have no effect; the folder ends with the worker",
)
