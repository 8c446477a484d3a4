"""Raises what a loop would take for its end."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
def run(x, y):
    raise StopIteration
"""

CASE = AttackCase(
    family="tampering",
    behaviour="exceptions that mean something to the runner",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="whatever is raised becomes a status",
)
