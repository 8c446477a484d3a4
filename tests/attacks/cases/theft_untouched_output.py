"""Writes nothing, hoping that the buffer holds the answer."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="empty() that aliases a freed expected output",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="outputs are overwritten before each call; expected ones never were in this process",
)
