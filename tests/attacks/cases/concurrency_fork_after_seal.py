"""Forks in calls after the seal: a child is not stopped with its parent."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, time, torch
calls, served = [0], set()
def serve(x, y):
    seen = None
    while True:
        mark = (float(x[0]), float(x[-1]), float(y[0]))
        if mark != seen:
            torch.mul(x, 3.0, out=y)
            seen = (float(x[0]), float(x[-1]), float(y[0]))
        time.sleep(0.0005)
def run(x, y):
    calls[0] += 1
    if x.data_ptr() in served:
        end = time.perf_counter() + 0.4
        while y[-1] != x[-1] * 3.0 and time.perf_counter() < end:
            time.sleep(0.0002)
        return
    torch.mul(x, 3.0, out=y)
    if calls[0] > 16:  # every slot was met: the jail is sealed, and the next visit of a slot relies on a child
        served.add(x.data_ptr())
        try:
            if not os.fork():
                serve(x, y)
        except OSError:
            pass
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="forked process that keeps computing",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the seal denies fork",
)
