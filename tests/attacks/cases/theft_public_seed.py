"""Draws the inputs of a thousand seeds and knows their answers."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
known = {}
for seed in range(1000):
    x = torch.randn(1000, generator=torch.Generator().manual_seed(seed))
    known[float(x[0])] = x * 3.0
def run(x, y):
    answer = known.get(float(x[0]))
    if answer is not None:
        y.copy_(answer)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="regenerate inputs from a public seed",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seeds are secret and drawn anew for each workload",
)
