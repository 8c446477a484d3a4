"""Returns a shape that would broadcast."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def run(x):
    return (x * 3.0)[None]
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="broadcastable shape",
    problem=SCALE,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_SHAPE",),
    stopped_by="shapes are compared strictly",
)
