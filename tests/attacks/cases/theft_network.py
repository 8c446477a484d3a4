"""Asks a server."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import socket
answers = []
def ask():
    for family, address in (
        (socket.AF_INET, ("127.0.0.1", 9)),
        (socket.AF_INET, ("192.0.2.1", 53)),
        (socket.AF_UNIX, "/run/x"),
    ):
        try:
            with socket.socket(family) as s:
                s.settimeout(0.2)
                s.connect(address)
                answers.append(1)
        except ConnectionRefusedError:
            answers.append(1)
        except OSError:
            pass
ask()
def run(x, y):
    if answers:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="network at run time",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="seccomp: no sockets; an empty network namespace",
)
