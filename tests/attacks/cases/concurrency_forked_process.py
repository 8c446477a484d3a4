"""A child that was forked before the seal goes on computing."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, time, torch
seen = {}
pid = [0]
def run(x, y):
    if not pid[0]:
        pid[0] = os.fork()
        if not pid[0]:
            while True:
                torch.mul(x, 3.0, out=y)
                time.sleep(0.0005)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="forked process that keeps computing",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR"),
    stopped_by="what was started is ended before the seal, which denies fork",
)
