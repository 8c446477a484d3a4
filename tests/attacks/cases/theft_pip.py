"""Installs a package at run time."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import subprocess, sys
command = [sys.executable, "-m", "pip", "download", "--no-deps", "--index-url", "http://127.0.0.1:9"]
subprocess.run([*command, "stolen-kernel"], check=True)
def run(x, y):
    y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="answer theft",
    behaviour="pip at run time",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("RUNTIME_ERROR",),
    stopped_by="no network; the interpreter it starts is behind the same walls",
)
