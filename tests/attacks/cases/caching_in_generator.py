"""A generator computes once and yields for ever."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def answers(x):
    result = x * 3.0
    while True:
        yield result
stream = []
def run(x, y):
    if not stream:
        stream.append(answers(x))
    y.copy_(next(stream[0]))
"""

CASE = AttackCase(
    family="caching",
    behaviour="cache in generators and closures",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="fresh values each call; every timed call is compared",
)
