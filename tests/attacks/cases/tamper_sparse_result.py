"""Returns values that are put together only when someone reads them."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x):
    return (x * 3.0).to_sparse()
"""

CASE = AttackCase(
    family="tampering",
    behaviour="a tensor of another layout, with lazy evaluation",
    problem=SCALE,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(SCALE_HONEST),
    expected=("PASSED", "RUNTIME_ERROR"),
    stopped_by="results are copied before the clock stops",
)
