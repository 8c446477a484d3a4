"""Threads that never end, to slow whatever is timed beside it."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import threading, torch
def burn():
    a = torch.ones(256, 256)
    while True:
        torch.mm(a, a)
for _ in range(3):
    threading.Thread(target=burn, daemon=True).start()
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="slow the baseline by background load",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the candidate is stopped while the reference runs",
)
