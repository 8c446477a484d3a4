"""Zeroes its inputs, for which zeros would be right."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def run(x, y):
    x.zero_()
    y.zero_()
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="mutate the inputs so that the reference agrees",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="inputs are sealed and mapped privately; the judge keeps its own",
)
