"""A thread that only sleeps, as profilers and progress bars have."""

from solbench.judge.attacks import HonestCase, Submission

from ._problems import HEAVY

SOURCE = """
import threading, time, torch
def beat():
    while True:
        time.sleep(0.5)
threading.Thread(target=beat, daemon=True).start()
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = HonestCase(
    looks_like="threads left running",
    problem=HEAVY,
    solution=Submission(SOURCE),
)
