"""Synchronisation does nothing."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
for module in (torch.cuda, torch.cpu, torch.accelerator):
    module.synchronize = lambda *a, **k: None
torch.cuda.Event.synchronize = torch.cuda.Stream.synchronize = lambda self: None
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="no-op synchronize",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the clock is the judge's own, in another process",
)
