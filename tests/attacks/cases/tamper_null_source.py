"""A zero byte in the source."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = "x = 1\0\ndef run(x, y):\n    pass\n"

CASE = AttackCase(
    family="tampering",
    behaviour="crash whoever reads the source",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("COMPILE_ERROR", "RUNTIME_ERROR"),
    stopped_by="what cannot be parsed is a verdict",
)
