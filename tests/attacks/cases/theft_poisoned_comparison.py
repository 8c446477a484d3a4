"""Fills every tensor that it can find with NaN, its output too."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import gc, torch
def run(x, y):
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing.is_floating_point():
            thing.fill_(float("nan"))
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="fill the expected tensors with NaN",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="nothing of the judge is in the worker's process",
)
