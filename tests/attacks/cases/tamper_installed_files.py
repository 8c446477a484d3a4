"""Writes into installed packages and start-up files."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import os, site, sys, torch
written = []
for folder in [*site.getsitepackages(), os.path.dirname(torch.__file__), os.path.dirname(os.__file__)]:
    for name in ("sitecustomize.py", "evil.pth", "conftest.py", "torch.py", "__init__.py"):
        try:
            with open(os.path.join(folder, name), "a") as file:
                written.append(file.name)
        except OSError:
            pass
def run(x, y):
    if written:
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
