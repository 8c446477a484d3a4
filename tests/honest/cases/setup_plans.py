"""Plans in setup what each shape needs."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALES

SOURCE = """
import torch
spaces = {}
def setup(inputs_spec):
    shape = inputs_spec["x"]["shape"]
    spaces[shape] = torch.empty(shape, dtype=inputs_spec["x"]["dtype"])
def run(x, y):
    space = spaces[tuple(x.shape)]
    torch.mul(x, 3.0, out=space)
    y.copy_(space)
"""

CASE = HonestCase(
    looks_like="work done outside the timed call",
    problem=SCALES,
    solution=Submission(SOURCE),
)
