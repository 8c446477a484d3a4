"""A graph for every slot, captured when it is first met."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import CHAIN

SOLUTION = """
import torch
graphs = {}
def compute(x, y):
    y.copy_(x)
    for _ in range(10):
        y.sin_().mul_(1.5)
def run(x, y):
    key = (x.data_ptr(), y.data_ptr())
    if key not in graphs:
        compute(x, y)
        graphs[key] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[key]):
            compute(x, y)
    graphs[key].replay()
"""

CASE = HonestCase("stale graph replay", CHAIN, Submission(SOLUTION), device="cuda")
