"""Asks the kernel whether it is sealed."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
def run(x, y):
    filters = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Seccomp_filters")]
    if filters and int(filters[0]) < 2:
        torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="input and stage",
    behaviour="environment sniffing for the stage",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="every timed call is compared",
)
