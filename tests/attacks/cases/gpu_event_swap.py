"""Events hand out the handle of another pair, so that times between them are of nothing."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import HEAVY, HEAVY_HONEST

ATTACK = """
import torch
empty = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
for event in empty:
    event.record()
class Swapped(torch.cuda.Event):
    def record(self, stream=None):
        pass
    def elapsed_time(self, other):
        torch.cuda.synchronize()
        return torch.cuda.Event.elapsed_time(*empty)
torch.cuda.Event.record = Swapped.record
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="swap event handles",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="the clock is the judge's own, in another process",
    device="cuda",
)
