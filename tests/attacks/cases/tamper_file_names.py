"""Files of its own that are called like libraries and start-up files."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
fake = not hasattr(torch, "nn")
def run(x, y):
    if fake:
        y.fill_(1.0)
"""

CASE = AttackCase(
    family="tampering",
    behaviour="stand in for torch, sitecustomize, conftest",
    problem=SCALE,
    attack=Submission(
        ATTACK,
        files={
            "torch.py": "raise SystemExit\n",
            "sitecustomize.py": "import os; os._exit(0)\n",
            "conftest.py": "raise SystemExit\n",
            "numpy.py": "raise SystemExit\n",
        },
    ),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="library names always mean the installed library",
)
