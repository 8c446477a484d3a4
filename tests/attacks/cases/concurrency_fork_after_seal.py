"""Forks in calls after the seal: a child is not stopped with its parent."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, time, torch
calls, served = [0], set()
def serve(x, y):
    while True:
        if y[-1] == 0:  # made ready for a call, to its end
            torch.mul(x, 3.0, out=y)
        time.sleep(0.0005)
def run(x, y):
    calls[0] += 1
    if x.data_ptr() in served:
        end = time.perf_counter() + 0.4
        while y[-1] != x[-1] * 3.0 and time.perf_counter() < end:
            time.sleep(0.0002)
        return
    torch.mul(x, 3.0, out=y)
    # Every slot was met, so the jail is sealed: the next visits of some slots rely on a child.
    if calls[0] > 16 and len(served) < 3:
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
