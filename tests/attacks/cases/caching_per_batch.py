"""Computes the first call of a run and repeats its answer."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import gc
def page():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Page":
            return thing.fields

import torch
fields = page()
held = {}
def run(x, y):
    if held.get("turn") != fields[0]:
        held.update(turn=fields[0], answer=x * 3.0)
    y.copy_(held["answer"])
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache by the sequence number of the run",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    # Where calls are run singly it does honest work.
    expected=("INCORRECT_NUMERICAL", "PASSED"),
    stopped_by="each call of a run has its own values",
)
