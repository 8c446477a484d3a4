"""Two halves on two streams, joined before the call returns."""

from solbench.judge.attacks import HonestCase, Submission

from ._gpu_problems import HEAVY

SOLUTION = """
import torch
sides = [torch.cuda.Stream() for _ in range(2)]
def run(x, w, y):
    main, half = torch.cuda.current_stream(), len(x) // 2
    for side, rows in zip(sides, (slice(0, half), slice(half, None))):
        side.wait_stream(main)
        with torch.cuda.stream(side):
            torch.mm(torch.tanh(x[rows] @ w), w, out=y[rows])
    for side in sides:
        main.wait_stream(side)
"""

CASE = HonestCase("side stream, never joined", HEAVY, Submission(SOLUTION), device="cuda")
