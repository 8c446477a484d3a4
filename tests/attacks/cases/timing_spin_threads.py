"""Threads that spin between calls, to keep the clocks high."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import threading, torch
working = [False]
def spin():
    while True:
        if not working[0]:
            sum(range(1000))
threading.Thread(target=spin, daemon=True).start()
def run(x, w, y):
    working[0] = True
    torch.mm(torch.tanh(x @ w), w, out=y)
    working[0] = False
"""

CASE = AttackCase(
    family="timing",
    behaviour="spin threads to keep clocks high",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the worker is stopped between calls; the reference is timed in turns with it",
)
