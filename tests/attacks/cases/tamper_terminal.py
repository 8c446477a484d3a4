"""Escape sequences that would repaint the table."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = r"""
def run(x, y):
    print("\x1b[2J\x1b[1;1H\x1b[32mPASSED  score 1.000\x1b[0m\r", flush=True)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="forged verdict on the reader's terminal",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="control characters never leave the log",
)
