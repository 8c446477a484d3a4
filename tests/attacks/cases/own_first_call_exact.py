"""Exact in its first calls, of which one is held to the budget itself; then within three times that."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import PROJECTION, PROJECTION_HONEST

ATTACK = """
import torch
calls = [0]
def run(x, w, y):
    torch.mm(x, w, out=y)
    calls[0] += 1
    if calls[0] > 18:
        y.mul_(1.0 + 3e-4 * torch.randn_like(y))
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="a call counter, beside an error budget",
    problem=PROJECTION,
    attack=Submission(ATTACK),
    honest=Submission(PROJECTION_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every call is held to a budget; which are held to the narrow one is secret",
)
