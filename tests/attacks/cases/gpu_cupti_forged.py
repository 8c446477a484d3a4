"""Claims a nanosecond a call, where the shim would say what it measured."""

from solbench.judge.attacks import AttackCase, Submission

from ._gpu_problems import HEAVY, HEAVY_HONEST

ATTACK = """
import gc, torch
(Page,) = {type(thing) for thing in gc.get_objects() if type(thing).__name__ == "Page"}
def claim(self, call, nanoseconds):
    self.fields[16 + call % 256] = 1
Page.claim = claim
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="concurrency and fallback",
    behaviour="forged CUPTI records",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="claimed times are advice and rank nothing",
    device="cuda",
)
