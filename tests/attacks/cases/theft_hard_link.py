"""Links to a file outside, to keep it or to read it."""

from solbench.judge.attacks import AttackCase, Submission
from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
read = []
os.symlink("/etc/passwd", "link")
for attempt in (lambda: open("link").read(), lambda: os.link("/etc/passwd", "hard"), lambda: os.rename("/etc/passwd", "moved"), lambda: open("/proc/self/root/etc/passwd").read(), lambda: open("/proc/self/cwd/../../../etc/passwd").read()):
    try:
        attempt()
        read.append(1)
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
