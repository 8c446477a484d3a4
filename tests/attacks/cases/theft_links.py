"""Reads a file outside through links."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
read = []
os.symlink("/etc/hostname", "link")
for path in ("link", "/proc/self/root/etc/hostname", "/proc/self/cwd/../../../etc/hostname"):
    try:
        read.append(open(path).read())
    except OSError:
        pass
def run(x, y):
    if read:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="read files through links",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="Landlock: no files but packages, artifact and scratch",
)
