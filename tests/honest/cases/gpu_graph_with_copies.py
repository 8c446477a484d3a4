"""One graph on buffers of its own, inputs and outputs copied."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import CHAIN

SOLUTION = """
import torch
graph, held = torch.cuda.CUDAGraph(), {}
def run(x, y):
    if not held:
        held["x"], held["y"] = x.clone(), torch.empty_like(y)
        with torch.cuda.graph(graph):
            held["y"].copy_(held["x"])
            for _ in range(10):
                held["y"].sin_().mul_(1.5)
    held["x"].copy_(x)
    graph.replay()
    y.copy_(held["y"])
"""

CASE = HonestCase("one graph for all inputs", CHAIN, Submission(SOLUTION), device="cuda")
