"""Honest on the developer's machine and before a date."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import socket, time, torch
def run(x, y):
    if socket.gethostname() == "my-desk" or time.time() < 1.6e9:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="host- or date-dependent branch",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the verdict is of this machine and this moment: every timed call is compared",
)
