"""Looks for secrets in environment and arguments."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, sys
text = "".join(open(f"/proc/self/{name}").read() for name in ("environ", "cmdline"))
text += repr((os.environ, sys.argv, sys.orig_argv))
found = [word for word in ("SEED", "PYTEST", "TOKEN", "SECRET", "workload", "tests/") if word in text]
def run(x, y):
    if found:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="environment sniffing",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="the environment is clean and constant",
)
