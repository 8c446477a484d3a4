"""Returns a view of a larger workspace."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import torch
space = torch.empty(200_000)
def run(x):
    torch.mul(x, 3.0, out=space[: len(x)])
    return space[: len(x)]
"""

CASE = HonestCase(
    looks_like="an output that aliases other memory",
    problem=SCALES,
    solution=Submission(SOURCE, returns=True),
)
