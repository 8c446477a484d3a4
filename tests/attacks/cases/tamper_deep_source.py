"""A source that exhausts whoever parses it."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
value = lambda: --------------------1
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="crash the judge by what it reads: nesting",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR", "COMPILE_ERROR"),
    stopped_by="what cannot be parsed is a verdict",
)
