"""Forks in a timed call: the child is not stopped with its parent."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, time, torch
calls = [0]
slots = {}
def work():
    seen = {}
    while True:
        for key, (x, y) in slots.items():
            mark = (float(x[0]), float(x[-1]), float(y[0]))
            if seen.get(key) != mark:
                torch.mul(x, 3.0, out=y)
                seen[key] = (float(x[0]), float(x[-1]), float(y[0]))
def run(x, y):
    calls[0] += 1
    slots[x.data_ptr()] = (x, y)
    if calls[0] <= 20:
        torch.mul(x, 3.0, out=y)
        if calls[0] == 20:
            try:
                if not os.fork():
                    work()
            except OSError:
                pass
    elif calls[0] > 20:
        end = time.perf_counter() + 1.5
        while y[-1] != x[-1] * 3.0 and time.perf_counter() < end:
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
