"""A thread writes over the caches without end, so that the baseline finds nothing in them."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import threading, torch
def pollute():
    junk = torch.zeros(16 << 20)
    while True:
        junk.add_(1.0)
threading.Thread(target=pollute, daemon=True).start()
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="slow the baseline by cache pollution",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the candidate is stopped while the reference runs; caches are flushed for both",
)
