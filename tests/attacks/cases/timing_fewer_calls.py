"""Rewrites the number of calls on the shared page, so that one is made in place of several."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = """
import gc, torch
(Page,) = {type(thing) for thing in gc.get_objects() if type(thing).__name__ == "Page"}
plain = Page.next_command

def next_command(self, last, looks):
    found = plain(self, last, looks)
    if looks > 1_000_000:  # armed: this is the timed run
        self.fields[4] = 1
    return found
Page.next_command = next_command
def run(x, y):
    torch.mul(x, 3.0, out=y)
"""

CASE = AttackCase(
    family="timing",
    behaviour="rewrite the command: fewer calls, other slots",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("INCORRECT_NUMERICAL", "PASSED"),
    stopped_by="every call is compared; the judge never reads its own command back",
)
