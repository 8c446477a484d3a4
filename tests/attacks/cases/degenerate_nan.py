"""Returns NaN, which no comparison catches that is written the wrong way round."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def run(x, y):
    y.fill_(float("nan"))
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="NaN tolerance",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the gate: NaN fails",
)
