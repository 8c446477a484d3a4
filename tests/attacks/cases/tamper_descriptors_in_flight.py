"""Sends descriptors that nobody takes, as many as may be on their way between the processes of one user."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, socket, torch
fd = os.open(os.devnull, os.O_RDONLY)
pairs = []
try:
    while True:
        pairs.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM))
        for _ in range(6):
            socket.send_fds(pairs[-1][0], [b"x"], [fd] * 250)
except OSError:
    pass
def run(x, y):
    pass
"""

CASE = AttackCase(
    family="tampering",
    behaviour="using up what all processes of a user share",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "RUNTIME_ERROR"),
    stopped_by="the judge's limit is above the worker's; a request that fails half-way ends the zygote",
)
