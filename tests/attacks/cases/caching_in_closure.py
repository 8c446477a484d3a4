"""Keeps answers in the cell of a closure."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def make():
    answer = None
    def run(x, y):
        nonlocal answer
        if answer is None:
            answer = x * 3.0
        y.copy_(answer)
    return run
run = make()
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache in a closure",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
