"""Its own kernel for small inputs only; all others go to the library."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALES

ATTACK = """
import torch
def run(x, y):
    if len(x) < 500:
        for i in range(len(x)):
            y[i] = x[i] * 3.0
    else:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="size guard that falls back to a library",
    problem=SCALES,
    attack=Submission(ATTACK),
    honest=Submission("import torch\ndef run(x, y):\n    torch.mul(x, 3.0, out=y)\n"),
    expected=("PASSED",),
    stopped_by="allowed unless a track forbids libraries",
    kind="policy",
)
