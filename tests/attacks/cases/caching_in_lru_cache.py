"""An lru_cache whose key is the address."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import functools, torch
held = [None]
@functools.lru_cache
def answer(address):
    return held[0] * 3.0
def run(x, y):
    held[0] = x
    y.copy_(answer(x.data_ptr()))
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache in lru_cache",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
