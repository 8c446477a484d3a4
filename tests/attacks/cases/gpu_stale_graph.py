"""Replays the graph of the first slot for all of them."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import SCALE, SCALE_HONEST

ATTACK = """
import torch
graph = []
def run(x, y):
    torch.mul(x, 3.0, out=y) if not graph else graph[0].replay()
    if not graph:
        graph.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graph[0]):
            torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="caching",
    behaviour="stale graph replay",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL",),
    stopped_by="outputs are overwritten before each call; every timed call is compared",
    device="cuda",
)
