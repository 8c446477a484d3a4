"""An instance with state is the kernel."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SCALE

SOURCE = """
import torch
class Kernel:
    space = None
    def __call__(self, x, y):
        if self.space is None:
            self.space = torch.empty_like(x)
        torch.mul(x, 3.0, out=self.space)
        y.copy_(self.space)
kernel = Kernel()
def run(x, y):
    kernel(x, y)
"""

CASE = HonestCase(
    looks_like="a cache in class attributes",
    problem=SCALE,
    solution=Submission(SOURCE),
)
