"""Reads what other workers left in theirs folders."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
secrets = []
for top in ("/tmp", os.path.dirname(os.getcwd()), "/dev/shm", "/var/tmp"):
    try:
        for parent, _, names in os.walk(top, onerror=lambda error: None):
            secrets += [os.path.join(parent, n) for n in names if not parent.startswith(os.getcwd())]
    except OSError:
        pass
def run(x, y):
    if secrets:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="read other runs or sibling submissions",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="Landlock: no files but packages, artifact and scratch",
)
