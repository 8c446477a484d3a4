"""Asks for what a capability gives: a raw socket, and the name of the machine."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import socket
# The name is set to what it is, in a namespace of the worker's own.
def works(attempt):
    try:
        attempt()
    except OSError:
        return False
    return True
powers = [
    works(lambda: socket.sethostname(socket.gethostname())),
    works(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()),
]
def run(x, y):
    if any(powers):
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="use privileges that were left over",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp, and no capability is left",
)
