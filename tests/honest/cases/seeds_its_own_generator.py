"""Seeds torch's generator, for randomised algorithms."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import torch
torch.manual_seed(0)
def run(x, y):
    noise = torch.rand_like(x)
    y.copy_((x + noise) * 3.0)
    y.sub_(noise * 3.0)
"""

CASE = HonestCase(
    looks_like="regenerated inputs",
    problem=SCALE,
    solution=Submission(SOURCE),
)
