"""Looks for a tensor of the answer's shape through gc."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import gc, torch
def run(x, y):
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing.shape == y.shape and thing is not x and thing is not y:
            if torch.allclose(thing[:4], x[:4] * 3.0):
                y.copy_(thing)
                return
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="find expected tensors through gc",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="nothing of the judge is in the worker's process",
)
