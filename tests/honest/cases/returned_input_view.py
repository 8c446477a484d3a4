"""Works in place and returns the input."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
def run(x):
    return x.mul_(3.0)
"""

CASE = HonestCase(
    looks_like="input passed through",
    problem=SCALE,
    solution=Submission(SOURCE, returns=True),
)
