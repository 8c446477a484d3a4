"""Sets global flags that it needs, and puts them back."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import SOFTMAX

SOLUTION = """
import torch
def run(x, y):
    grad, threads = torch.is_grad_enabled(), torch.get_num_threads()
    torch.set_grad_enabled(False)
    try:
        torch.softmax(x, dim=-1, out=y)
    finally:
        torch.set_grad_enabled(grad)
        torch.set_num_threads(threads)
"""

CASE = HonestCase("global flags, set and restored inside run", SOFTMAX, Submission(SOLUTION))
