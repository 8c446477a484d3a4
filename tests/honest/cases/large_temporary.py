"""Makes and frees a large temporary each call."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import HEAVY

SOURCE = """
import torch
def run(x, w, y):
    space = torch.zeros(16 << 20)
    torch.mm(torch.tanh(x @ w), w, out=y)
    del space
"""

CASE = HonestCase(
    looks_like="slow to stop: long system calls",
    problem=HEAVY,
    solution=Submission(SOURCE),
)
