"""Times its own kernels by events while it looks for the best variant, in ``setup``."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import HEAVY

SOLUTION = """
import torch
def plain(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
def in_place(x, w, y):
    torch.mm((x @ w).tanh_(), w, out=y)
best = [plain]
def setup(inputs):
    n = inputs["x"]["shape"][0]
    x, w, y = (torch.randn(n, n, device="cuda") for _ in range(3))
    times = {}
    for variant in (plain, in_place):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        variant(x, w, y)
        end.record()
        end.synchronize()
        times[begin.elapsed_time(end)] = variant
    best[0] = times[min(times)]
def run(x, w, y):
    best[0](x, w, y)
"""

CASE = HonestCase("patched timers", HEAVY, Submission(SOLUTION), device="cuda")
