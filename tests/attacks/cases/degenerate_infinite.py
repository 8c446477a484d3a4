"""Returns infinities."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def run(x, y):
    y.fill_(float("inf"))
"""

CASE = AttackCase(
    family="degenerate problems",
    behaviour="infinite tolerance",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the gate: Inf fails",
)
