"""Adds into its output, which the public rule promises to be zero."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
def run(x, y):
    y.add_(x, alpha=3.0)
"""

CASE = HonestCase(
    looks_like="relies on what the buffer holds",
    problem=SCALE,
    solution=Submission(SOURCE),
)
