"""A pool made once; each call waits for its futures."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import HEAVY

SOURCE = """
import torch
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
def run(x, w, y):
    h = torch.tanh(x @ w)
    half = len(x) // 2
    parts = [pool.submit(torch.mm, h[rows], w, out=y[rows]) for rows in (slice(0, half), slice(half, None))]
    for part in parts:
        part.result()
"""

CASE = HonestCase(
    looks_like="a thread left running",
    problem=HEAVY,
    solution=Submission(SOURCE),
)
