"""A mutable default keeps the answer."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x, y, kept=[]):
    if not kept:
        kept.append(x * 3.0)
    y.copy_(kept[0])
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache in defaults",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "COMPILE_ERROR"),
    stopped_by="fresh values each call; every timed call is compared",
)
