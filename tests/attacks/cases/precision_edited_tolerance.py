"""Looks for tolerances to widen."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import gc
for thing in gc.get_objects():
    if hasattr(type(thing), "max_atol") or (type(thing) is dict and "max_atol" in thing):
        for name in ("max_atol", "max_rtol"):
            try:
                object.__setattr__(thing, name, 1e9)
            except (AttributeError, TypeError):
                thing[name] = 1e9
def run(x, y):
    y.fill_(1.0)
"""

CASE = AttackCase(
    family="precision",
    behaviour="edit the tolerance",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="nothing of the judge is in the worker's process",
)
