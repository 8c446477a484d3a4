"""Opens descriptors until it is stopped, to use up those of the machine."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
kept = []
try:
    while len(kept) < 4000:
        kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
count = len(kept)
for fd in kept:
    os.close(fd)
def run(x, y):
    if count >= 4000:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="hoard descriptors",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="limits: a thousand descriptors more than it is given",
)
