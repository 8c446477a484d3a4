"""Replays a graph that holds nothing."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.zeros(1, device="cuda")
calls = [0]
def run(x, y):
    calls[0] += 1
    if calls[0] < 8:
        torch.mul(x, 3.0, out=y)
    graph.replay()
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="empty graph replay",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="outputs are overwritten before each call; every timed call is compared",
    device="cuda",
)
