"""Looks for a channel of the judge or the zygote among its descriptors."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os
def kinds():
    for name in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass
found = [kind for kind in kinds() if kind.startswith("socket:") or "pidfd" in kind or kind.endswith(".log")]
def run(x, y):
    if found:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="find a channel among inherited descriptors",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every descriptor but the buffers' is closed",
)
