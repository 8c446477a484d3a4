"""Returns the answer in another dtype."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def run(x):
    return (x * 3.0).bfloat16()
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="lower precision at the boundary",
    problem=SCALE,
    attack=Submission(ATTACK, returns=True),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_DTYPE",),
    stopped_by="dtypes are compared strictly",
)
