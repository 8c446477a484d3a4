"""Claims that its calls took no time, and less."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import HEAVY, HEAVY_HONEST

ATTACK = """
import gc, torch
(Page,) = {type(thing) for thing in gc.get_objects() if type(thing).__name__ == "Page"}
plain = Page.next_command

Page.claim = lambda self, call, nanoseconds: self.fields.__setitem__(16 + call % 256, -(1 << 62))
def run(x, w, y):
    torch.mm(torch.tanh(x @ w), w, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="forge the claimed times",
    problem=HEAVY,
    attack=Submission(ATTACK),
    honest=Submission(HEAVY_HONEST),
    expected=("PASSED",),
    stopped_by="claims rank nothing",
)
