"""Uses its inputs as workspace: they are its own copies."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
def run(x, y):
    x.mul_(3.0)
    y.copy_(x)
"""

CASE = HonestCase(
    looks_like="inputs mutated so that the reference agrees",
    problem=SCALE,
    solution=Submission(SOURCE),
)
