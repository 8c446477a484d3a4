"""Does less than the bound says must be done: the reference's products cancel."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import CANCELLING, CANCELLING_HONEST

ATTACK = "def run(x, w, y):\n    y.copy_(x)\n"

CASE = AttackCase(
    family="degenerate problems",
    behaviour="a wrong bound",
    problem=CANCELLING,
    attack=Submission(ATTACK),
    honest=Submission(CANCELLING_HONEST),
    expected=("PASSED", "INVALID_REFERENCE"),
    stopped_by="physics: a time below the bound withholds the score until someone looks",
    kind="policy",
)
