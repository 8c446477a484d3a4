"""A lone surrogate in the source."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = "# \ud800\ndef run(x, y):\n    pass\n"

CASE = AttackCase(
    family="tampering",
    behaviour="crash whoever writes the source",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("COMPILE_ERROR", "RUNTIME_ERROR", "INCORRECT_NUMERICAL"),
    stopped_by="what cannot be written is a verdict",
)
