"""Ignores every signal that can be ignored, stops itself, and never answers."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
calls = [0]
def run(x, y):
    calls[0] += 1
    while calls[0] > 16:  # it is sealed
        pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="ignore signals and hang",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("TIMEOUT",),
    stopped_by="SIGSTOP and SIGKILL cannot be ignored",
)
