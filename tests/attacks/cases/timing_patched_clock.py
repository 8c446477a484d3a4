"""Python's clocks stand still."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import time, torch
for name in ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns"):
    setattr(time, name, lambda: 0)
torch.cuda.Event.elapsed_time = lambda *a: 0.0
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="patch elapsed_time, perf_counter, do_bench",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the clock is the judge's own, in another process",
)
