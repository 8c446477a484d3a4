"""Every event is made without timing, so that a timer built on them would fail or read zero."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
made = torch.cuda.Event.__new__
torch.cuda.Event.__new__ = lambda cls, *_, **__: made(cls, enable_timing=False)
torch.cuda.Event.elapsed_time = lambda *_: 1e-6
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="events without timing",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the clock is the judge's own, in another process",
    device="cuda",
)
