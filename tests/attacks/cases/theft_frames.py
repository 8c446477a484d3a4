"""Looks for expected values in frames and modules."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import sys, torch
def run(x, y):
    places = [vars(m) for m in list(sys.modules.values()) if "solbench" in getattr(m, "__name__", "")]
    frame = sys._getframe(1)
    while frame:
        places.append(frame.f_locals)
        frame = frame.f_back
    for place in places:
        for name, value in list(place.items()):
            if any(word in name for word in ("expected", "reference", "oracle", "answer")):
                if type(value) is torch.Tensor:
                    y.copy_(value)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="find expected tensors through frames and sys.modules",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="nothing of the judge is in the worker's process",
)
