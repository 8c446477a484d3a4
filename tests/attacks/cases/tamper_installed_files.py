"""Asks whether it may write installed packages and start-up files."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, site, torch
# Opened for writing and closed again: no harm where it is allowed.
reached = []
folders = [*site.getsitepackages(), os.path.dirname(torch.__file__), os.path.dirname(os.__file__)]
for folder in folders:
    for name in ("__init__.py", "site.py", "torch/__init__.py", "_distutils_hack/__init__.py"):
        try:
            os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
            reached.append(name)
        except OSError:
            pass
def run(x, y):
    if reached:
        y.copy_(x * 3.0)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="overwrite torch.py, sitecustomize, .pth",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="Landlock: no files but packages, artifact and scratch",
)
