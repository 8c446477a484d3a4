"""A solution of several modules."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import torch
from kernels import triple
def run(x, y):
    triple(x, y)
"""

KERNELS = """
import torch
def triple(x, y):
    torch.mul(x, 3.0, out=y)
"""

CASE = HonestCase(
    looks_like="files that stand in for libraries",
    problem=SCALE,
    solution=Submission(
        SOURCE,
        files={"kernels.py": "import torch\n\n\ndef triple(x, y):\n    torch.mul(x, 3.0, out=y)\n"},
    ),
)
