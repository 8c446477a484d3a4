"""A source so nested that parsing it exhausts the stack."""

from solbench.judge.attacks import AttackCase, Submission

from ._problems import SCALE, SCALE_HONEST

ATTACK = "def run(x, y):\n    return " + "-" * 100_000 + "1\n"

CASE = AttackCase(
    family="tampering",
    behaviour="crash whoever reads the source",
    problem=SCALE,
    attack=Submission(ATTACK),
    honest=Submission(SCALE_HONEST),
    expected=("COMPILE_ERROR", "RUNTIME_ERROR"),
    stopped_by="what cannot be parsed is a verdict",
)
