"""Leaves out a product, since the workload's weights are zero."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import ZERO_WEIGHTS, ZERO_WEIGHTS_HELD_OUT, ZERO_WEIGHTS_HONEST

ATTACK = "def run(x, w, y):\n    y.copy_(x)\n"

CASE = AttackCase(
    family="degenerate problems",
    behaviour="zero weights make a constant",
    problem=ZERO_WEIGHTS,
    attack=Submission(ATTACK),
    honest=Submission(ZERO_WEIGHTS_HONEST),
    expected=("PASSED", "INVALID_REFERENCE"),
    stopped_by="admission: the output must depend on every input",
    kind="policy",
    held_out=ZERO_WEIGHTS_HELD_OUT,
)
